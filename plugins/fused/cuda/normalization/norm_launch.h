// What the host calls to start the kernels of normalization.
#pragma once

#include "cuda/common/dropout_on_device.h"
#include "cuda/common/vector.h"

namespace switchyard::fused_cuda {

// Mean (0 for RMSNorm) and 1 / sqrt(variance + eps).
struct RowStatistics {
    float mean = 0.0F, rstd = 0.0F;
};

// Rows are dense. What is not there is nullptr.
struct NormCall {
    std::int64_t rows = 0, width = 0;
    float eps = 0.0F;
    bool centered = true;  // LayerNorm; else RMSNorm
    bool aligned = false;  // all rows and parameters begin at multiples of 16 bytes
    device::Storage storage = device::Storage::float32;
    DropoutOnDevice dropout;
    RowStatistics* statistics = nullptr;  // [rows]
    Vector weight;

    // Forward: sum = residual + dropout(x + bias), y = norm(sum) * weight + beta.
    Vector bias, beta;
    const void* x = nullptr;
    const void* residual = nullptr;
    void* sum = nullptr;
    void* y = nullptr;

    // Backward. normed: what the norm was taken of.
    const void* normed = nullptr;
    const void* grad_y = nullptr;
    const void* grad_sum = nullptr;
    void* grad_residual = nullptr;
    void* grad_x = nullptr;
    float* parts = nullptr;  // [blocks, vectors, width]: each block's sums of the gradients of parameters
    int vectors = 0;
    int weight_sums = -1, beta_sums = -1, bias_sums = -1;  // their places, or -1
};

constexpr int norm_threads = 256;
// Rows up to this width are a warp's, in registers; wider ones are a block's.
constexpr std::int64_t norm_warp_width = 1024;

inline std::int64_t norm_rows_of_block(std::int64_t width) {
    return width <= norm_warp_width ? norm_threads / 32 : 1;
}

void launch_norm_forward(const NormCall& call, const device::Launch& geometry, void* stream);
void launch_norm_backward(const NormCall& call, const device::Launch& geometry, void* stream);

}  // namespace switchyard::fused_cuda
