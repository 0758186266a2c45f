// Parameters may be float32 beside low-precision activations; adding the two would promote the result.
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard {

inline at::Tensor as_type(const at::Tensor& tensor, const at::Tensor& like) {
    return !tensor.defined() || tensor.scalar_type() == like.scalar_type() ? tensor
                                                                           : tensor.to(like.scalar_type());
}

}  // namespace switchyard
