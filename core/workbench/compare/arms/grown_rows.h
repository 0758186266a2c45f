// Rows of tokens that grow through the model of an arm, with a cache or without.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/workbench/infer/growing_rows.h"
#include "core/workbench/train/session.h"

namespace switchyard::compare {

struct GrownRows {
    std::unique_ptr<infer::GrowingRows> rows;
    std::function<std::int64_t()> cache_bytes;  // that are kept for them now
};

// `cached`: keys and values of earlier tokens are kept, of `length` tokens at most; else each token runs the
// whole sequences through the model again. `session` outlives them.
GrownRows make_grown_rows(const train::Session& session, bool cached, std::int64_t length);

}  // namespace switchyard::compare
