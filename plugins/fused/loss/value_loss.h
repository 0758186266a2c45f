// Losses of values that each have a target: squared error, and cross-entropy of a probability's logit.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/loss.h>

#include "loss_rows.h"

namespace switchyard::fused {

struct ValueLosses {
    std::vector<double> rows;  // the sum of each row's
    std::int64_t count = 0;    // values that have a target
};

// x [rows, values] float32, bfloat16 or float16, targets [rows, values] float32; both dense.
ValueLosses value_losses(const at::Tensor& x, const at::Tensor& targets, LossKind loss);

// Of the rows' losses, in the dtype of x; zeros where there is no target.
at::Tensor value_gradients(const at::Tensor& x, const at::Tensor& targets, LossKind loss,
                           const RowScale& scale);

}  // namespace switchyard::fused
