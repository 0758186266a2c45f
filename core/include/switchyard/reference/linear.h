// Linear layer, plainly: y [..., out] = x [..., in] weight[out, in]^T + bias[out], all in the dtype of x.
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/linear.h>

namespace switchyard::reference {

// weight and bias (undefined: none) are cast to the dtype of x. Differentiable.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// What the operand means: dense values as they are, scaled ones times their scales in float32.
at::Tensor unscaled(const LinearOperand& operand);

}  // namespace switchyard::reference
