#include "core/workbench/model/cache/planned_cache.h"

#include <algorithm>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::model {
namespace {

// Rows that fork share the pages of what they have in common: one has pages of its own for what was added
// since, the first of which may have begun before. With a prefix rows begin anew while they are short, each
// for itself.
std::int64_t pages_of(const CacheShape& shape, const CacheLimits& limits, bool shares, bool cross) {
    const auto pages_for = [&](std::int64_t tokens) {
        return (tokens + shape.page_size - 1) / shape.page_size;
    };
    const auto whole = pages_for(shape.length);
    const auto begun = shares && limits.begun > 0 ? std::min(limits.begun, limits.rows) : limits.rows;
    const auto own = cross              ? 0  // nothing is added to an encoder's states
                     : limits.added > 0 ? std::min(whole, pages_for(limits.added) + 1)
                                        : whole;
    return begun * whole + (limits.rows - begun) * own;
}

}  // namespace

CacheShape cache_shape(const config::ModelConfig& model, const config::CacheConfig& cache, Device device,
                       const CacheLimits& limits, bool cross) {
    CacheShape shape;
    shape.rows = limits.rows;
    shape.length = cross ? limits.source : limits.length;
    shape.stays = limits.stays;
    shape.kv_heads = model.kv_heads;
    shape.head_dim = model.head_dim;
    shape.device = at::Device(to_device_type(device));
    shape.kind = cache.kind;
    shape.page_size = cache.page_size;
    if (cache.dtype) shape.narrow = to_scalar_type(*cache.dtype);
    if (shape.kind == config::CacheKind::paged)
        shape.pages = pages_of(shape, limits, model.prefix == 0, cross);
    return shape;
}

std::vector<CacheShape> planned_caches(const config::Config& config, const resolver::Plan& plan,
                                       const CacheLimits& limits) {
    std::vector<CacheShape> shapes;
    for (const bool cross : {false, true}) {
        auto shape = cache_shape(config.model, config.cache, config.run.device, limits, cross);
        for (const auto& row : plan.rows) {
            const auto& use = row.use;
            if (use.kind != Kind::attention || use.phase != Phase::decode) continue;
            if (use.slot != (cross ? "attention.cross" : "attention")) continue;
            shape.dtypes.insert(shape.dtypes.end(), use.layer_ids.size(), to_scalar_type(use.request->dtype));
        }
        if (!shape.dtypes.empty()) shapes.push_back(std::move(shape));
    }
    return shapes;
}

}  // namespace switchyard::model
