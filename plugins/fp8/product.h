// Products of two scaled matrices.
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/linear.h>

namespace switchyard::fp8 {

// What tensor cores take: cuBLASLt's float8 products need inner and outer dimensions that are multiples of 16
// (cuBLAS 13 documentation, "8-bit Floating Point Data Types Usage"). Others are filled up with zeros inside
// `product`.
constexpr std::int64_t granule = 16;
constexpr bool is_whole(std::int64_t rows, std::int64_t in, std::int64_t out) {
    return rows % granule == 0 && in % granule == 0 && out % granule == 0;
}

// a [M, K] times b [N, K] transposed: [M, N]. On a CPU in float32: decoded, multiplied, and summed in
// float32. On a device in bfloat16, by at::_scaled_mm;
// `fast` lets it sum with fewer bits there, as TransformerEngine does in forward and not in backward.
at::Tensor product(const LinearOperand& a, const LinearOperand& b, bool fast);

}  // namespace switchyard::fp8
