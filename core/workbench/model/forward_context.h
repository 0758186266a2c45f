// What one forward pass is for, and the seeds of its dropout.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/types.h>
#include "core/kernel/config/model_config.h"
#include "core/kernel/config/train_config.h"

namespace switchyard::model {

struct CachedStep;
class LayerParameters;
class TensorRanks;

// The call sites of dropout. A site's number is part of its seed, so the order here is part of what makes a
// run repeatable: append only.
enum class DropoutSite : std::uint32_t {
    attention,
    attention_out,
    cross,
    cross_out,
    activation,
    feed_forward_out,
    embeddings,
    head,
    final_norm
};

// Sees hidden states on their way: "embeddings", "encoder.0.attention" and "encoder.0.feed_forward" (what a
// block adds), "encoder.0" (after a layer whose norms are post), ..., "encoder".
using Observer = std::function<void(const std::string& place, const at::Tensor& value)>;

struct ForwardContext {
    Phase phase = Phase::eval;
    std::uint64_t run_seed = 0;
    std::uint64_t step =
        // optimizer step, counted from 0; its micro-batches share it and are told apart by
        // Tokens::first_document
        0;
    bool dropout_on = true;  // false: as in evaluation, whatever the phase
    const Observer* observer = nullptr;
    config::Recompute recompute = config::Recompute::none;
    std::int64_t recompute_every = 1;
    LayerParameters* layers = nullptr;   // whose parameters are not there all the time; nullptr: none
    TensorRanks* ranks = nullptr;        // that have a part of each layer; nullptr: layers are whole
    const CachedStep* cached = nullptr;  // of a stack that decodes with a cache; cache/decoding_cache.h

    // The same of a stack that appends to a cache.
    ForwardContext generating(Phase generating_phase, const CachedStep& step) const {
        auto context = *this;
        context.phase = generating_phase;
        context.cached = &step;
        return context;
    }

    // Whether this part of that layer runs again in backward. What is observed is run once.
    bool recomputes(config::Recompute part, std::int64_t layer) const {
        return phase == Phase::train && recompute == part && observer == nullptr &&
               layer % recompute_every == 0;
    }

    void observe(const std::string& place, const at::Tensor& value) const {
        if (observer != nullptr) (*observer)(place, value);
    }

    // Dropout of a site, off unless training. `layer` counts within the stack.
    Dropout dropout(double p, DropoutSite site, config::Stack stack = config::Stack::encoder,
                    std::int64_t layer = 0) const {
        if (phase != Phase::train || !dropout_on || p <= 0.0) return {};
        const auto number = (static_cast<std::uint32_t>(stack) << 24) |
                            (static_cast<std::uint32_t>(layer) << 4) | static_cast<std::uint32_t>(site);
        return {p, site_seed(run_seed, step, number)};
    }
};

}  // namespace switchyard::model
