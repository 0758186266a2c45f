// Everything that the kernels ask of a device, and nothing else they may use: so the same kernel sources are compiled by nvcc (device_ptx.h) and, as plain C++, for the emulator of
// tests/cuda_emulation, which runs them without a device and is stricter than one: shared memory starts as NaN, an asynchronous copy is NaN until it was waited for, lanes of a warp must
// meet in the same operation.
//
// In namespace switchyard::flash_cuda::device, blocks and grids one-dimensional:
//
//   thread() block() lane() warp()                     where this thread is
//   sync_block() sync_warp() any_lane(bool)            barriers, vote
//   shuffle_xor(value, mask)                           the value of lane ^ mask
//   load_matrices(r, row)                              ldmatrix.x4: four 8x8 matrices of 16 bit from shared memory
//   load_matrices_transposed(r, row)                   ldmatrix.x4.trans
//   mma<T>(c, a, b)                                    c += a b, mma.m16n8k16 with float accumulators
//   copy_async(shared, global, real)                   16 bytes, zeros where not real; commit_copies(), wait_copies<N>()
//   pack<T>(low, high) unpack<T>(pair, low, high)      two floats and two elements in 32 bits
//   exp2(x) log2(x) tanh(x)                            exp2 and log2 of the device's own, approximate to 2 units
//   atomic_add(place, value)                           in global memory
//   visit_tile(...)                                    nothing on a device; the emulator notes which tiles were looked at
//   launch(kernel, geometry, stream)                   runs kernel(shared memory) in every thread
//
// Source of what they do and of the fragment layouts in the comments: PTX ISA 8.7, sections 9.7.14.5.8 (mma.m16n8k16), 9.7.14.5.15 (ldmatrix), 9.7.9.25.3 (cp.async).
#pragma once

#ifdef __CUDACC__
#include "device_ptx.h"
#else
#include <device_emulation.h>
#endif
