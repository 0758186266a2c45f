// Parameters may be float32 beside low-precision activations; adding the two would promote the result.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>

namespace switchyard {

inline at::Tensor as_type(const at::Tensor& tensor, const at::Tensor& like) {
    return !tensor.defined() || tensor.scalar_type() == like.scalar_type() ? tensor
                                                                           : tensor.to(like.scalar_type());
}

// x + bias in the dtype of x, rounded once: the sum and the bias's gradient are float32's where the bias is.
inline at::Tensor add_bias(const at::Tensor& x, const at::Tensor& bias) {
    return bias.defined() ? as_type(at::add(x, bias), x) : x;
}

}  // namespace switchyard
