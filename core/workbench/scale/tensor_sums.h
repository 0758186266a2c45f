// What ranks that have a part of each layer sum up in a step: in forward what the parts of a block make, in
// backward the gradients of its inputs (core/workbench/model/tensor_ranks.h); and what each
// finds of its part of the words, of which the loss is made (lm_head.h there). Nothing goes on beside it.
// With sequence parallel (token_share.h there) half of a sum, which leaves each rank the sum of its tokens,
// is where the sum was, and the other half, which gathers the tokens of all, where the next block begins.
// Gradients of norms and last biases are vectors, whose sums are left out.
//
// No LibTorch here.
#pragma once

#include <cstdint>

#include "core/kernel/config/config.h"
#include "core/workbench/scale/step_timeline.h"

namespace switchyard::scale {

struct TensorSums {
    std::int64_t forward = 0, backward = 0;  // of one micro-batch
    double bytes = 0.0;                      // of each, of the largest batch
    double loss_bytes = 0.0;                 // of what all parts of the words give, likewise

    std::int64_t all(std::int64_t accumulated) const { return accumulated * (forward + backward); }
};

// Nothing where layers are whole.
TensorSums tensor_sums(const config::Config& config, DType computed_in);

// Puts them where they belong; each takes `sum_ms`, handing round what is found of words `loss_ms`.
void add_sums(StepCosts& costs, const TensorSums& sums, std::int64_t accumulated, double sum_ms,
              double loss_ms);

}  // namespace switchyard::scale
