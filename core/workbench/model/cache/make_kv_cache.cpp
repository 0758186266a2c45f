#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

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

// Of a device what its allocator keeps without need counts too.
std::optional<std::int64_t> memory_left(at::Device device) {
    if (device.is_cpu()) return machine::available_memory();
    const auto index = device.has_index() ? device.index() : c10::DeviceIndex{0};
    try {
        auto* const allocator = c10::getDeviceAllocator(device.type());
        const auto stats = allocator->getDeviceStats(index);
        constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
        return static_cast<std::int64_t>(allocator->getMemoryInfo(index).first) +
               stats.reserved_bytes[all].current - stats.allocated_bytes[all].current;
    } catch (const c10::Error&) {
        return std::nullopt;  // it does not say
    }
}

}  // namespace

at::ScalarType CacheShape::stored(std::size_t layer) const {
    const auto wide = dtypes[layer];
    return narrow && c10::elementSize(*narrow) <= c10::elementSize(wide) ? *narrow : wide;
}

std::int64_t CacheShape::whole_length() const {
    return kind == config::CacheKind::paged ? (length + page_size - 1) / page_size * page_size : length;
}

std::int64_t CacheShape::pages_in_all() const {
    return pages > 0 ? pages : rows * (whole_length() / page_size);
}

std::int64_t CacheShape::wide_bytes() const {
    std::size_t widest = 0;
    for (std::size_t i = 0; i < dtypes.size(); ++i)
        if (stored(i) != dtypes[i]) widest = std::max(widest, c10::elementSize(dtypes[i]));
    return 2 * rows * kv_heads * whole_length() * head_dim * static_cast<std::int64_t>(widest);
}

std::int64_t CacheShape::bytes() const {
    const auto tokens =
        kind == config::CacheKind::paged ? pages_in_all() * page_size : rows * length;  // of all rows
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
        const auto scale = stored(i) == at::kChar ? sizeof(float) : 0;
        const auto token = static_cast<std::int64_t>(c10::elementSize(stored(i))) * head_dim +
                           static_cast<std::int64_t>(scale);
        bytes += 2 * kv_heads * tokens * token;
    }
    return bytes;
}

void require_memory(const std::vector<CacheShape>& shapes, std::int64_t held) {
    std::int64_t bytes = 0;
    for (const auto& shape : shapes) bytes += shape.bytes() + shape.wide_bytes();
    if (shapes.empty()) return;
    const auto device = shapes.front().device;
    const auto left = memory_left(device);
    if (!left || bytes <= *left + held) return;
    const auto& self = shapes.front();
    throw base::InputError(
        "the cache of keys and values takes " + megabytes(bytes) + " for " +
        base::counted(static_cast<std::size_t>(self.rows), "row") + " of " + std::to_string(self.length) +
        " tokens, and " + (device.is_cpu() ? "this machine" : "the device") + " has " +
        megabytes(*left + held) + " left; expected fewer or shorter rows, or a narrower cache.dtype");
}

std::unique_ptr<KvCache> make_kv_cache(CacheShape shape) {
    if (shape.kind == config::CacheKind::paged) return std::make_unique<PagedKvCache>(std::move(shape));
    return std::make_unique<ContiguousCache>(std::move(shape));
}

}  // namespace switchyard::model
