// The three products of a linear layer, in tiles where those are faster (<switchyard/sdk/cpu/tile_product.h>), else by LibTorch. Operands have one dtype.
// `computed_in` is set where tiles were taken (tiles::multiplied_in), and left as it is where not.
//
// Legend:  R rows  I in  O out
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard {

// [..., O] = x [..., I] weight [O, I]^T + bias [O] (or undefined)
at::Tensor linear_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const char*& computed_in);

// [R, I] = grad [R, O] weight [O, I]
at::Tensor input_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI, const char*& computed_in);

// [O, I] = grad [R, O]^T x [R, I]
at::Tensor weight_gradient(const at::Tensor& grad_RO, const at::Tensor& x_RI, const char*& computed_in);

}  // namespace switchyard
