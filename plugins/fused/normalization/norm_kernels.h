// Rows of norm(residual + dropout(x + bias)) and of its backward, in vectors of the widest kind that the
// processor has (Highway, at run time).
// Rows are dense, parameters float32. `Storage` is float, c10::BFloat16 or c10::Half.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "common/dropout_row.h"

namespace switchyard::fused {

struct NormShape {
    std::int64_t width = 0;
    double eps = 0.0;
    bool centered = true;  // LayerNorm; else RMSNorm
    bool reduced = false;  // statistics of one pass, held in the storage dtype
};

// Mean (0 for RMSNorm) and 1 / sqrt(variance + eps).
struct RowStatistics {
    float mean = 0.0F, rstd = 0.0F;
};

template <class Storage>
struct NormForward {
    NormShape shape;
    bool streams = false;  // sum and y are written around the caches: rows are aligned to vectors
    RowDropout dropout;
    const Storage* x = nullptr;
    const Storage* residual = nullptr;  // or nullptr, as all below but y and weight
    const float* bias = nullptr;
    const float* weight = nullptr;
    const float* beta = nullptr;
    Storage* sum = nullptr;
    Storage* y = nullptr;
    RowStatistics* statistics = nullptr;  // [rows]
};

template <class Storage>
struct NormBackward {
    NormShape shape;
    bool streams = false;
    RowDropout dropout;
    const Storage* sum = nullptr;  // what the norm was taken of
    const Storage* grad_y = nullptr;
    const Storage* grad_sum = nullptr;  // or nullptr
    const float* weight = nullptr;
    const RowStatistics* statistics = nullptr;
    Storage* grad_residual = nullptr;  // of the sum; or nullptr
    Storage* grad_x = nullptr;         // of what went into dropout; or nullptr, and so all below
    float* grad_weight = nullptr;      // [width] each: the rows' terms are added
    float* grad_beta = nullptr;
    float* grad_bias = nullptr;
};

// Rows [begin, end).
template <class Storage>
struct NormKernels {
    void (*forward)(const NormForward<Storage>& call, std::int64_t begin, std::int64_t end);
    void (*backward)(const NormBackward<Storage>& call, std::int64_t begin, std::int64_t end);
};

template <class Storage>
const NormKernels<Storage>& norm_kernels();

}  // namespace switchyard::fused
