// The device layer of plugins/flash/cuda/device.h for the host: what its kernel sources include where they are compiled as plain C++.
//
// Fragment layouts are those of PTX ISA 8.7, sections 9.7.14.5.8 (mma.m16n8k16) and 9.7.14.5.15 (ldmatrix); device_test.cpp holds them against an independent statement.
#pragma once

#include "grid_emulation.h"
#include "launch_geometry.h"
#include "number.h"

namespace switchyard::flash_cuda {

using std::max;  // which device code has without asking
using std::min;

}  // namespace switchyard::flash_cuda

namespace switchyard::flash_cuda::device {

inline int thread() { return emulation::current_thread(); }
inline int block() { return emulation::current_block(); }
inline int lane() { return thread() % 32; }
inline int warp() { return thread() / 32; }

inline void sync_block() { emulation::wait_for_block(); }
inline void sync_warp() {
    emulation::meet(emulation::Meeting::sync, {}, [](auto&) {});
}
inline bool any_lane(bool value) {
    emulation::Lane own{};
    own.flag = value;
    return emulation::meet(emulation::Meeting::vote, own,
                           [](auto& lanes) {
                               bool any = false;
                               for (const auto& one : lanes) any = any || one.flag;
                               for (auto& one : lanes) one.flag = any;
                           })
        .flag;
}
inline float shuffle_xor(float value, int mask) {
    emulation::Lane own{};
    own.value = value;
    own.mask = mask;
    return emulation::meet(emulation::Meeting::shuffle, own,
                           [](auto& lanes) {
                               float values[32];
                               for (int i = 0; i < 32; ++i) values[i] = lanes[i].value;
                               for (int i = 0; i < 32; ++i) lanes[i].value = values[i ^ lanes[i].mask];
                           })
        .value;
}

inline void load_matrices(std::uint32_t (&r)[4], const void* row) {
    emulation::Lane own{};
    own.row = static_cast<const unsigned char*>(row);
    const auto& met = emulation::meet(emulation::Meeting::matrices, own,
                                      [](auto& lanes) { emulation::exchange_matrices(lanes, false); });
    for (int i = 0; i < 4; ++i) r[i] = met.result[i];
}
inline void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) {
    emulation::Lane own{};
    own.row = static_cast<const unsigned char*>(row);
    const auto& met = emulation::meet(emulation::Meeting::matrices_transposed, own,
                                      [](auto& lanes) { emulation::exchange_matrices(lanes, true); });
    for (int i = 0; i < 4; ++i) r[i] = met.result[i];
}

template <class T>
void mma(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    emulation::Lane own{};
    for (int i = 0; i < 4; ++i) own.a[i] = a[i];
    for (int i = 0; i < 2; ++i) own.b[i] = b[i];
    for (int i = 0; i < 4; ++i) own.c[i] = c[i];
    const auto& met = emulation::meet(emulation::Meeting::mma, own,
                                      [](auto& lanes) { emulation::multiply_fragments<T>(lanes); });
    for (int i = 0; i < 4; ++i) c[i] = met.c[i];
}

inline void copy_async(void* shared, const void* global, bool real) {
    emulation::issue_copy(shared, global, real);
}
inline void commit_copies() { emulation::commit(); }
template <int kLeft>
void wait_copies() {
    emulation::wait(kLeft);
}

template <class T>
std::uint32_t pack(float low, float high) {
    T pair[2];
    emulation::round_to(low, pair[0]);
    emulation::round_to(high, pair[1]);
    return static_cast<std::uint32_t>(pair[0].bits) | (static_cast<std::uint32_t>(pair[1].bits) << 16U);
}
template <class T>
void unpack(std::uint32_t pair, float& low, float& high) {
    low = emulation::to_float(T{static_cast<std::uint16_t>(pair & 0xFFFFU)});
    high = emulation::to_float(T{static_cast<std::uint16_t>(pair >> 16U)});
}

inline float exp2(float x) { return std::exp2(x); }
inline float log2(float x) { return std::log2(x); }
inline float tanh(float x) { return std::tanh(x); }

inline void atomic_add(float* place, float value) { *place += value; }
inline void visit_tile(int sequence, int head, int row_tile, int column_tile) {
    if (thread() == 0) emulation::statistics().visits.push_back({sequence, head, row_tile, column_tile});
}

template <class Kernel>
void launch(const Kernel& kernel, const Launch& geometry, void*) {
    if (geometry.blocks == 0) return;
    if (geometry.threads != Kernel::threads)
        emulation::violate("launched with other threads than the kernel's");
    emulation::run_grid(geometry, [&](unsigned char* shared) { kernel(shared); });
}

}  // namespace switchyard::flash_cuda::device
