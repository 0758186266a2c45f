// A matrix in the order in which a product reads it: Goto & van de Geijn 2008, "Anatomy of High-Performance
// Matrix Multiplication" (ACM Transactions on Mathematical Software 34, 3).
//
// Legend:  M rows of the result  N columns of the result  K inner dimension
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

// [N, K] as [ceil(N / 16), K, 16]: 16 rows side by side, so that what is multiplied with one value of the
// other operand lies in one line of memory. What is missing to 16 is zeros.
struct Panels {
    static constexpr std::int64_t columns = 16;

    at::Tensor values;  // float32 or bfloat16
    std::int64_t rows = 0, inner = 0;

    bool defined() const { return values.defined(); }
    std::int64_t bytes() const { return static_cast<std::int64_t>(values.nbytes()); }
};

// Of any strides.
Panels pack(const at::Tensor& matrix_NK);

// a [M, K] times b [N, K]^T plus bias [N] (undefined: none): [M, N]. Sums are float32, and rounded once. What
// is added to what does not depend on the number of threads.
at::Tensor product(const at::Tensor& a_MK, const Panels& b, const at::Tensor& bias_N);
