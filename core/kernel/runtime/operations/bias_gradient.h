// The gradient of a linear layer's bias: the sum of the rows of the output's gradient.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace switchyard::runtime {

// Legend:  R rows  O out
//
// Of 16-bit gradients in float32, then rounded once to `dtype`: thousands of rows summed in bfloat16 would
// lose the smaller ones. On a CPU LibTorch makes a float32 copy of all that it is given for that; parts that
// stay in the cache take a fifth of the time, and no memory to speak of.
inline at::Tensor bias_gradient(const at::Tensor& grad_RO, at::ScalarType dtype) {
    constexpr std::int64_t cached_values = 512 * 1024;
    const auto sum_dtype = grad_RO.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const std::int64_t rows = grad_RO.size(0);
    const std::int64_t part =
        std::max<std::int64_t>(1, cached_values / std::max<std::int64_t>(1, grad_RO.size(1)));
    if (!grad_RO.is_cpu() || grad_RO.scalar_type() == sum_dtype || rows <= part)
        return grad_RO.sum(0, false, sum_dtype).to(dtype);
    at::Tensor sums = grad_RO.narrow(0, 0, part).sum(0, false, sum_dtype);
    for (std::int64_t row = part; row < rows; row += part)
        sums.add_(grad_RO.narrow(0, row, std::min(part, rows - row)).sum(0, false, sum_dtype));
    return sums.to(dtype);
}

}  // namespace switchyard::runtime
