// The three products of a linear layer, in tiles where those are faster (<switchyard/sdk/cpu/tile_product.h>), else by LibTorch. Operands have one dtype.
//
// Legend:  R rows  I in  O out
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard {

// [..., O] = x [..., I] weight [O, I]^T + bias [O] (or undefined)
at::Tensor linear_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// [R, I] = grad [R, O] weight [O, I]
at::Tensor input_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI);

// [O, I] = grad [R, O]^T x [R, I]
at::Tensor weight_gradient(const at::Tensor& grad_RO, const at::Tensor& x_RI);

}  // namespace switchyard
