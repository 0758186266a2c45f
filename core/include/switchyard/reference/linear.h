// Linear layer, plainly: y [..., out] = x [..., in] weight[out, in]^T + bias[out], all in the dtype of x.
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard::reference {

// weight and bias (undefined: none) are cast to the dtype of x. Differentiable.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace switchyard::reference
