// Rows of tokens that grow through the model of an arm, with a cache or without.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/kernel/config/config.h"
#include "core/workbench/compare/arms/workload.h"
#include "core/workbench/infer/growing_rows.h"
#include "core/workbench/model/cache/decoding_cache.h"
#include "core/workbench/train/session.h"

namespace switchyard::compare {

struct GrownRows {
    std::unique_ptr<infer::GrowingRows> rows;
    std::function<std::int64_t()> cache_bytes;  // that are kept for them now
};

// What a cache holds at most in that workload.
model::CacheLimits cache_limits(const Workload& workload, const config::Config& config);

// `cached`: keys and values of earlier tokens are kept; else each token runs the whole sequences through the
// model again. `session` outlives them.
GrownRows make_grown_rows(const train::Session& session, bool cached, const model::CacheLimits& limits);

}  // namespace switchyard::compare
