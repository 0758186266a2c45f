// Products of inputs in 8 bits with weights in 8 or 4: exact sums of integers, then scales (byte_kernels.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/types.h>

#include "panels.h"

namespace switchyard::int8 {

// x [R, I] becomes integers with a scale for each row, or with the panels' input_scale where they have one.
// y [R, O] = x weight^T + bias [O] (or undefined), in the dtype of x. A row that is not finite gives NaN.
at::Tensor byte_product(const at::Tensor& x_RI, const Panels& weight, const at::Tensor& bias_O);

}  // namespace switchyard::int8
