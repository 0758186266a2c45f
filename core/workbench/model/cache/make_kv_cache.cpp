#include <cstdio>
#include <string>

#include <c10/core/ScalarType.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/machine/available_memory.h"
#include "core/workbench/model/cache/contiguous_cache.h"
#include "core/workbench/model/cache/paged_cache.h"

namespace switchyard::model {
namespace {

std::string megabytes(std::int64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f MB", static_cast<double>(bytes) / 1e6);
    return text;
}

}  // namespace

at::ScalarType CacheShape::stored(std::size_t layer) const {
    const auto wide = dtypes[layer];
    return narrow && c10::elementSize(*narrow) <= c10::elementSize(wide) ? *narrow : wide;
}

std::int64_t CacheShape::bytes() const {
    const bool paged = kind == config::CacheKind::paged;
    const auto tokens = paged ? (length + page_size - 1) / page_size * page_size : length;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
        const auto scale = stored(i) == at::kChar ? sizeof(float) : 0;
        const auto token = static_cast<std::int64_t>(c10::elementSize(stored(i))) * head_dim +
                           static_cast<std::int64_t>(scale);
        bytes += 2 * rows * kv_heads * tokens * token;
    }
    return bytes;
}

void require_memory(const std::vector<CacheShape>& shapes, std::int64_t held) {
    std::int64_t bytes = 0;
    for (const auto& shape : shapes) bytes += shape.bytes();
    if (shapes.empty() || !shapes.front().device.is_cpu()) return;  // a device tells by itself
    const auto left = machine::available_memory();
    if (!left || bytes <= *left + held) return;
    const auto& self = shapes.front();
    throw base::InputError("the cache of keys and values takes " + megabytes(bytes) + " for " +
                           base::counted(static_cast<std::size_t>(self.rows), "row") + " of " +
                           std::to_string(self.length) + " tokens, and this machine has " +
                           megabytes(*left + held) +
                           " left; expected fewer or shorter rows, or a narrower cache.dtype");
}

std::unique_ptr<KvCache> make_kv_cache(CacheShape shape) {
    if (shape.kind == config::CacheKind::paged) return std::make_unique<PagedKvCache>(std::move(shape));
    return std::make_unique<ContiguousCache>(std::move(shape));
}

}  // namespace switchyard::model
