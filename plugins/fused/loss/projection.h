// Output projection and cross-entropy, logits = x weight^T + bias a piece at a time: never whole in memory.
// All products are of tiles that stay in the cache; the logits are made transposed, [classes, rows], for then
// the weight is read as it lies:
//
//     losses     tiles of 256 classes x 64 rows, whose log-sum-exps are joined: one product
//     gradients  256 classes of all rows at a time: their logits again, the gradients of these, the weight's
//                gradient of those classes, and what they add to the
//                gradient of x: three products
//
// Logits are made twice, so that nothing of their size is kept, and each part of the weight's gradient is
// made once, so that a narrow dtype needs no wider copy of it.
// Who adds what in which order depends on the shape alone: the same bits with any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/loss.h>

#include "loss_rows.h"

namespace switchyard::fused {

struct ProjectedLoss {
    std::vector<double> losses;  // of each row
    std::vector<float> log_sum_exp;
};

// No target is the one that is ignored: the caller leaves these rows out.
ProjectedLoss projected_losses(const LossInputs& inputs, const LossParams& params);

// Those that are needed.
LossGrads projected_gradients(const LossInputs& inputs, const LossParams& params, const float* log_sum_exp,
                              const RowScale& scale, const LossNeeds& needs);

}  // namespace switchyard::fused
