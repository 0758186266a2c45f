// The file in which an arm keeps what it computes first, from equal weights: how far apart arms are.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/config.h"
#include "core/workbench/compare/arms/arm_message.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::compare {

// Rows of logits that have a label: a model may leave the others out, or not. Undefined where the loss
// projects by itself.
at::Tensor labelled_logits(const config::Config& config, const model::TaskResult& result);

struct FirstStep {
    at::Tensor logits;   // undefined: not known
    at::Tensor further;  // of a generation: of tokens after those; undefined: there are none
    // Of all parameters in their order, undefined where there is none; empty: there are none.
    std::vector<at::Tensor> gradients;
};

// Throws std::runtime_error.
void write_first_step(const std::string& path, const config::Config& config,
                      const model::Parameters& parameters, const FirstStep& step);

// How far the file of an arm is from the base's, with the root of summed squares: infinitely where a tensor
// has another shape, or outputs are not finite and the base's are; NaN where the files do not hold the same
// tensors. The loss is not in it.
Drift drift_between(const std::string& base, const std::string& arm);

}  // namespace switchyard::compare
