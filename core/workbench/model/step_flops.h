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
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/config/config.h"
#include "core/workbench/model/work.h"

namespace switchyard::model {

// A linear layer's product, or the two of an attention: operations of one unit each.
struct StepProduct {
    // Of its weight, "encoder.0.attention.q.weight"; of attention, that which makes its values; of a head
    // whose weight is the embeddings', as if it had one.
    std::string weight;
    std::string part;  // of the table that `switchyard model` prints: "attention", "feed-forward"
    Unit unit = Unit::source;
    double forward = 0.0, backward = 0.0;
    double share = 1.0;  // of the pairs, that which a window leaves (window_pairs.h)
};

// In the order of forward, of all layers. `trained`: whether the parameter of that name is.
std::vector<StepProduct> step_products(const config::Config& config,
                                       const std::function<bool(const std::string&)>& trained);

// Units that it has in the largest batch, as Describer counts them (describer.h).
double largest_amount(const config::BatchConfig& batch, const StepProduct& product);

// The operations of one unit each. Not known, nullopt, where a window leaves out pairs: how many depends on
// the lengths of sequences.
std::optional<Work> step_flops(const config::Config& config,
                               const std::function<bool(const std::string&)>& trained);

// Of a batch whose labels are not `ignore_index`.
Work work_of(const Batch& batch, std::int64_t ignore_index);

// Of so much work at these costs.
double total(const Work& work, const Work& costs);

}  // namespace switchyard::model
