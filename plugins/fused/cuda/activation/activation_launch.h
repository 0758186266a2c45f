// What the host calls to start the kernels of activation.
#pragma once

#include "activation/curve.h"
#include "cuda/common/dropout_on_device.h"
#include "cuda/common/vector.h"

namespace switchyard::fused_cuda {

using fused::Curve;

// Rows are dense. What is not there is nullptr.
struct ActivationCall {
    std::int64_t rows = 0, width = 0;  // of y; x has twice as many columns if gated
    std::int64_t parts = 1;            // a warp takes 256 columns of every parts-th row
    Curve curve = Curve::gelu_erf;
    bool gated = false;
    bool aligned = false;    // all rows and the bias begin at multiples of 16 bytes
    bool by_result = false;  // `x` is the result of a relu that is not gated: it says all that backward asks
    device::Storage storage = device::Storage::float32;
    DropoutOnDevice dropout;
    Vector bias;  // of all columns of x
    const void* x = nullptr;
    void* y = nullptr;  // forward

    const void* grad_y = nullptr;  // backward
    void* grad_x = nullptr;
    float* bias_parts = nullptr;  // [parts, columns of x]
};

constexpr int activation_threads = 256;

inline std::int64_t activation_tiles(std::int64_t width) { return (width + 255) / 256; }

void launch_activation_forward(const ActivationCall& call, const device::Launch& geometry, void* stream);
void launch_activation_backward(const ActivationCall& call, const device::Launch& geometry, void* stream);

}  // namespace switchyard::fused_cuda
