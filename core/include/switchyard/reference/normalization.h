// norm(residual + dropout(x + bias)) as <switchyard/interfaces/normalization.h> states it, in plain ATen
// calls that autograd follows.
//
// The sum is built in the dtype of x, one rounding a step; the norm of the rounded sum, with weight and beta,
// is computed in float32 at least and rounded once.
#pragma once

#include <switchyard/interfaces/normalization.h>

namespace switchyard::reference {

// Throws std::invalid_argument when the inputs do not fit each other.
NormalizationOutputs normalization(const NormalizationInputs& inputs, const NormalizationParams& params);

// The norm alone: y = norm(x) * weight + beta (undefined: none), in the dtype of x.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& beta, double eps);
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace switchyard::reference
