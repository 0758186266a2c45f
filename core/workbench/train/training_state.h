// Everything that training needs to go on bit for bit: the parameters, the optimizer's state, where the data
// loader stands, and random state.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>
#include "core/workbench/model/parameters.h"

namespace switchyard::train {

// What moves on between two optimizer steps, apart from tensors. Taken before a step's first batch: a stop in
// the middle of a step goes back to it.
struct Progression {
    std::int64_t step = 0;     // optimizer steps done
    std::int64_t samples = 0;  // seen
    std::int64_t tokens = 0;
    std::int64_t skipped_steps = 0;    // changed nothing, for something was not finite
    std::int64_t nonfinite_steps = 0;  // where the rule of train.nonfinite held, and no loss scale's
    std::int64_t rewinds = 0;          // to a checkpoint, on this way here
    LoaderPosition loader;
    at::Tensor generator;  // LibTorch's CPU generator, uint8; the core's own dropout needs none
};

struct TrainingState {
    Progression progression;
    OptimizerState optimizer;
    PrecisionState precision;
    std::map<std::string, at::Tensor> masters;  // float32 copies of parameters of lower precision, by name
    std::map<std::string, at::Tensor> average;  // of the weights, float32, by name; empty: none is kept
    bool averaged = false;  // one is kept, though none of it may be of this part of a checkpoint
    std::string plan;   // what must not change on resuming: the plan and the model in words, one line each
    std::string facts;  // JSON of the RunFacts under which it was saved; empty: they are not known
    // Read back: it was saved under another precision policy: that one's own state (a loss scale) is left
    // out, and begins anew.
    std::string other_policy;  // "amp/fp32"; empty: the same

    bool averages() const { return averaged || !average.empty(); }
};

}  // namespace switchyard::train
