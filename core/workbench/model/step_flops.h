// Floating-point operations that a model's training takes: forward and backward of its matrix products, as
// model FLOPs utilization counts them (Chowdhery et al. 2022, PaLM, appendix B). A multiply-add counts 2.
//
//   a linear layer   2 in out a token forward, as much again for the gradient of its input and for that of
//                    its weight: 6 a weight. Where parameters are frozen, only the gradients that are needed
//   attention        4 heads head_dim a pair of tokens forward, twice that backward. Pairs are all of a
//                    sequence, those that a causal mask leaves out too, as in the paper
//
// What is run again for backward (train.recompute), norms, activations, embeddings and the optimizer do not
// count.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/config/config.h"
#include "core/workbench/model/work.h"

namespace switchyard::model {

// The operations of one unit each. `trained`: whether the parameter of that name is. Not known, nullopt,
// where a window leaves out most pairs.
std::optional<Work> step_flops(const config::Config& config,
                               const std::function<bool(const std::string&)>& trained);

// Of a batch whose labels are not `ignore_index`.
Work work_of(const Batch& batch, std::int64_t ignore_index);

// Of so much work at these costs.
double total(const Work& work, const Work& costs);

}  // namespace switchyard::model
