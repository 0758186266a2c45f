// What kernels ask of a device: the same sources are compiled by nvcc (device_cuda.h) and, as plain C++, for
// an emulator, which runs them without a device and finds missing barriers, lanes that do not meet, unaligned
// access. Included by kernel sources and by nothing else. Since 1.0.
//
// In namespace switchyard::device, blocks and grids one-dimensional:
//
//   thread() block() blocks() lane() warp()            where this thread is
//   sync_block() sync_warp()                           barriers
//   shuffle_xor(value, mask)                           the value of lane ^ mask; float, double, 32 bits
//   load16(place) store16(place, words)                16 bytes at a multiple of 16
//   fresh(place)                                       a number that another block of this launch has written
//   last_block(tickets, shared)                        true in all threads of the block that comes last; all
//     blocks must ask
//   multiply add fused root quotient                   float32, each with one rounding, never contracted
//   pack<T>(low, high) unpack<T>(pair, low, high)      two floats and two elements in 32 bits
//   exp2(x)                                            the device's own, off by 2 units at most
//   launch(kernel, geometry, stream, who)              runs kernel(shared memory) in every thread;
//     Kernel::threads; `who` begins what an error says
//
// A plugin whose kernels ask for more adds it in a namespace of its own (plugins/flash/cuda/device.h).
#pragma once

#ifdef __CUDACC__
#include <switchyard/sdk/cuda/device_cuda.h>
#else
#include <sdk_device_emulation.h>
#endif
