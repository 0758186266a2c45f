// What the templates' kernels use of CUDA, for the emulator.
#pragma once

#include <cmath>
#include <cstdint>

#include "sdk_device_emulation.h"
#include "start.h"

// Blocks run one after the other, so one variable serves them all. Its section is named so that `start` can
// make it NaN before each block.
#define __global__
#define __shared__ static __attribute__((section("emulated_shared")))

namespace switchyard::emulation {

struct Index {
    unsigned x;
};

}  // namespace switchyard::emulation

#define threadIdx \
    (switchyard::emulation::Index{static_cast<unsigned>(switchyard::emulation::current_thread())})
#define blockIdx (switchyard::emulation::Index{static_cast<unsigned>(switchyard::emulation::current_block())})
#define gridDim (switchyard::emulation::Index{static_cast<unsigned>(switchyard::emulation::grid_blocks())})

inline void __syncthreads() { switchyard::emulation::wait_for_block(); }

template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int mask) {
    if (lanes != 0xFFFFFFFFU) switchyard::emulation::violate("a shuffle of fewer lanes than a warp has");
    return switchyard::device::shuffle_xor(value, mask);
}

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidConfiguration = 9 };
inline cudaError_t cudaGetLastError() {
    return switchyard::emulation::take_error() ? cudaErrorInvalidConfiguration : cudaSuccess;
}
inline const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : "invalid configuration argument";
}
