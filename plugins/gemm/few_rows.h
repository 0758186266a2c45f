// Products of few rows, as decoding makes them: bound by reading the weight, which is streamed as it is
// stored, one of its rows at a time. Sums are float32's, in an order that depends on the sizes alone.
//
// Legend:  R rows  I in  O out
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace switchyard::gemm {

inline constexpr std::int64_t most_streamed_rows = 8;

// float32 or bfloat16, few rows, and rows of the weight that are long and lie in one piece.
bool streams(const at::Tensor& x_RI, const at::Tensor& weight_OI);

// [R, O] = x [R, I] weight [O, I]^T + bias [O] (or undefined), where that is so; all of one dtype.
at::Tensor streamed_product(const at::Tensor& x_RI, const at::Tensor& weight_OI, const at::Tensor& bias_O);

}  // namespace switchyard::gemm
