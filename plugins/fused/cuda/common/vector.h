// A parameter as kernels read it.
#pragma once

#include <switchyard/sdk/cuda/device_launch.h>

namespace switchyard::fused_cuda {

// A parameter [width], or none.
struct Vector {
    const void* data = nullptr;
    device::Storage type = device::Storage::float32;
};

}  // namespace switchyard::fused_cuda
