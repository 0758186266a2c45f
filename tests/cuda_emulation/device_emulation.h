// The device layer of plugins/flash/cuda/device.h for the host: what its kernel sources include where they are compiled as plain C++.
//
// Fragment layouts are those of PTX ISA 8.7, sections 9.7.14.5.8 (mma.m16n8k16) and 9.7.14.5.15 (ldmatrix); device_test.cpp holds them against an independent statement.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "launch_geometry.h"
#include "number.h"

#include "fibers.h"

// nvcc's words, which mean nothing here.
#define __device__
#define __forceinline__ inline

namespace switchyard::emulation {

// What a tile pass looked at: part of the kernel's name that says which pass, and places in units of tiles.
struct Visit {
    int sequence, head, row_tile, column_tile;
    friend auto operator<=>(const Visit&, const Visit&) = default;
};

struct Statistics {
    std::int64_t launches = 0, blocks = 0, products = 0;
    std::int64_t bank_conflicts =
        0;  // ldmatrix: rows of one 8x8 matrix that share their banks with another's
    std::int64_t largest_shared = 0;
    std::vector<Visit> visits;
};
Statistics& statistics();
bool& last_warp_first();
int& current_block();

// Shared memory of the running block.
struct Shared {
    unsigned char* data = nullptr;
    std::size_t size = 0;
    void check(const void* place, std::size_t bytes, std::size_t alignment) const;
};
Shared& shared_memory();

// One operation in which all lanes of a warp meet. Lanes can be one meeting apart, so what a lane brings and takes is kept for two.
enum class Meeting { none, sync, vote, shuffle, mma, matrices, matrices_transposed };
struct Lane {
    std::array<std::uint32_t, 4> a, result;
    std::array<std::uint32_t, 2> b;
    std::array<float, 4> c;
    const unsigned char* row;
    float value;
    int mask;
    bool flag;
};
struct Warp {
    Meeting meeting = Meeting::none;
    int arrived = 0;
    unsigned generation = 0;
    Lane lanes[2][32];
};
Warp& current_warp();
void exchange_matrices(Lane (&lanes)[32], bool transposed);
template <class T>
void multiply_fragments(Lane (&lanes)[32]);

// Brings `lane` to the meeting, and returns it as `complete` has left it, which the last to come runs for all.
template <class Complete>
const Lane& meet(Meeting meeting, const Lane& lane, const Complete& complete) {
    Warp& warp = current_warp();
    if (warp.arrived > 0 && warp.meeting != meeting) violate("lanes of a warp meet in different operations");
    warp.meeting = meeting;
    const unsigned generation = warp.generation;
    auto& lanes = warp.lanes[generation % 2];
    Lane& own = lanes[current_thread() % 32];
    own = lane;
    made_progress();
    if (++warp.arrived == 32) {
        complete(lanes);
        warp.arrived = 0;
        ++warp.generation;
    }
    while (warp.generation == generation) give_way();
    return own;
}

// Asynchronous copies of the running thread.
void issue_copy(void* shared, const void* global, bool real);
void commit();
void wait(int left);

void run_grid(const flash_cuda::Launch& geometry, const std::function<void(unsigned char*)>& kernel);

float to_float(flash_cuda::Bf16 value);
float to_float(flash_cuda::Fp16 value);
void round_to(float value, flash_cuda::Bf16& result);
void round_to(float value, flash_cuda::Fp16& result);

}  // namespace switchyard::emulation

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
