// What the host calls to add up gradients of parameters.
#pragma once

#include <switchyard/sdk/cuda/device_launch.h>

namespace switchyard::fused_cuda {

// Adds up the parts of blocks in their order, each vector into a tensor of its own.
struct PartsCall {
    const float* parts = nullptr;  // [count, vectors, width]
    std::int64_t count = 0, width = 0;
    int vectors = 0;
    void* out[3] = {nullptr, nullptr, nullptr};
    device::Storage type[3] = {};
};

constexpr int parts_threads = 256;

void launch_parts(const PartsCall& call, const device::Launch& geometry, void* stream);

}  // namespace switchyard::fused_cuda
