// Everything that the kernels ask of a device, and nothing else they may use: the SDK's layer
// (<switchyard/sdk/cuda/device.h>), and what products by tensor cores ask beyond it, once for nvcc
// (device_ptx.h) and once for the emulator of tests/plugins/cuda_emulation. That is stricter than a device:
// shared memory starts as NaN, an asynchronous copy is NaN until it was waited for, lanes of a warp must meet
// in the same operation.
//
// In namespace switchyard::flash_cuda::device, beside all of switchyard::device:
//
//   any_lane(bool)                                     vote
//   load_matrices(r, row)                              ldmatrix.x4: four 8x8 matrices of 16 bit from shared
//     memory
//   load_matrices_transposed(r, row)                   ldmatrix.x4.trans
//   mma<T>(c, a, b)                                    c += a b, mma.m16n8k16 with float accumulators
//   copy_async(shared, global, real)                   16 bytes, zeros where not real; commit_copies(),
//     wait_copies<N>()
//   log2(x) tanh(x)                                    the device's own, off by 2 units at most
//   atomic_add(place, value)                           in global memory
//   visit_tile(...)                                    nothing on a device; the emulator notes which tiles
//     were looked at
//   launch(kernel, geometry, stream)                   in place of the SDK's: errors name attention
//
// Source of what they do and of the fragment layouts in the comments: PTX ISA 8.7, sections 9.7.14.5.8
// (mma.m16n8k16), 9.7.14.5.15 (ldmatrix), 9.7.9.25.3 (cp.async).
#pragma once

#include <switchyard/sdk/cuda/device.h>

namespace switchyard::flash_cuda {

using switchyard::device::Bf16;
using switchyard::device::Fp16;
namespace device {
using namespace switchyard::device;
}

}  // namespace switchyard::flash_cuda

#ifdef __CUDACC__
#include "device_ptx.h"
#else
#include <device_emulation.h>
#endif
