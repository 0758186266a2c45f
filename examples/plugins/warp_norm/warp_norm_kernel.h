// What the host calls to start the kernel. No header of CUDA or LibTorch: both sides include it.
#pragma once

#include <cstdint>

enum class NormType : std::uint8_t { float32, bfloat16, float16 };

struct NormCall {
    std::int64_t rows = 0, width = 0;
    float eps = 0.0F;
    bool centered = true;  // LayerNorm; else RMSNorm
    NormType type = NormType::float32;
    bool parameters_in_float32 = true;  // else in `type`
    const void* x = nullptr;            // [rows, width], dense, as are all below
    const void* residual = nullptr;     // or nullptr
    const void* weight = nullptr;       // [width]
    const void* beta = nullptr;         // or nullptr
    void* y = nullptr;
    void* sum = nullptr;  // where there is a residual
};

// In `stream`, a cudaStream_t; throws std::runtime_error where it cannot be started.
void launch_warp_norm(const NormCall& call, void* stream);
