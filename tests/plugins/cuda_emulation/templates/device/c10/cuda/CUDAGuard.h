// In place of LibTorch's: counts.
#pragma once

#include <c10/core/Device.h>

#include "start.h"

namespace c10::cuda {

class CUDAGuard {
public:
    explicit CUDAGuard(c10::Device) { ++switchyard::emulation::guards(); }
    ~CUDAGuard() { --switchyard::emulation::guards(); }
    CUDAGuard(const CUDAGuard&) = delete;
    CUDAGuard& operator=(const CUDAGuard&) = delete;
};

}  // namespace c10::cuda
