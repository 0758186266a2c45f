// How large the caches of a model are, of what its configuration and its plan say: before it is made.
#pragma once

#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/model/cache/decoding_cache.h"
#include "core/workbench/model/cache/kv_cache.h"

namespace switchyard::model {

// Of the self-attention of a decoder, or of its attention to an encoder: all but `dtypes`.
CacheShape cache_shape(const config::ModelConfig& model, const config::CacheConfig& cache, Device device,
                       const CacheLimits& limits, bool cross);

// As Model::make_cache would make them, by the plan's phase decode.
std::vector<CacheShape> planned_caches(const config::Config& config, const resolver::Plan& plan,
                                       const CacheLimits& limits);

}  // namespace switchyard::model
