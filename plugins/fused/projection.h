// Output projection and cross-entropy, logits = x weight^T + bias a piece at a time: never whole in memory. Two ways to cut them:
//
//     by rows     a piece has all classes of some rows, so its log-sum-exp is known at once and losses and gradients come from one
//                 pass: three products in all. The weight's gradient is added to by every piece: for float32, where it is itself the sum.
//     by classes  a piece has some classes of all rows. A first pass finds the log-sum-exp, a second makes the logits again: four products,
//                 but each part of the weight's gradient is made once, so a narrow dtype needs no wider copy of it.
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

// Losses, cut by classes.
ProjectedLoss losses_by_classes(const LossInputs& inputs, const LossParams& params);

// The gradients that are needed, cut by classes.
LossGrads gradients_by_classes(const LossInputs& inputs, const LossParams& params, const float* log_sum_exp,
                               const RowScale& scale, const LossNeeds& needs);

// float32: losses and the gradients that are needed, cut by rows.
LossGrads gradients_by_rows(const LossInputs& inputs, const LossParams& params, double scale,
                            const LossNeeds& needs, std::vector<double>& losses);

}  // namespace switchyard::fused
