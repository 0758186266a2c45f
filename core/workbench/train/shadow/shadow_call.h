// One call of an operation, kept until backward comes back to it, and then made twice: by a copy of the
// trusted component and by the candidate, both from copies of the same inputs and of the same gradients of
// its outputs. So neither can change what training goes on with, and both are timed alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/types.h>
#include "core/workbench/train/shadow/drift.h"

namespace switchyard::train {

using TensorList = std::vector<at::Tensor>;

struct ShadowCall {
    std::string layer;  // "encoder.0.attention"
    std::vector<const char*> input_names, output_names;
    TensorList inputs;        // undefined ones included; without a graph
    std::vector<bool> needs;  // of each input: has it a gradient?
    // The call: all outputs, undefined ones included, in grad mode with a graph.
    std::function<TensorList(const TensorList&inputs)> trusted, candidate;
    bool may_overwrite = false;  // the first input

    // Of each output, once it is known; undefined: nothing depends on it.
    TensorList incoming;
    // The gradient of the last output has in it what comes through the first one: the last is an operand of
    // the first, in a graph of several nodes.
    bool last_is_operand = false;
    bool done = false;

    bool any_incoming() const;
};

struct ShadowFinding {
    std::string fault;  // of the candidate, first of all; empty: none
    Drift outputs, gradients;
    bool has_gradients = false;
    double trusted_ms = 0.0, candidate_ms = 0.0;
};

// LibTorch's generators are where they were when it returns. `candidate_first`: which of both runs first.
ShadowFinding run_twice(ShadowCall& call, Device device, bool candidate_first);

}  // namespace switchyard::train
