// What every emulated device layer stands on: a grid of blocks whose threads are fibers, shared memory,
// meetings of a warp's lanes, asynchronous copies, and the 16-bit number formats.
// sdk_device_emulation.h is the layer of <switchyard/sdk/cuda/device.h>, device_emulation.h what
// plugins/flash/cuda/device.h adds to it.
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

#include <switchyard/sdk/cuda/device_launch.h>

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
std::int64_t grid_blocks();  // of the running launch

// Shared memory of the running block.
struct Shared {
    unsigned char* data = nullptr;
    std::size_t size = 0;
    void check(const void* place, std::size_t bytes, std::size_t alignment) const;
};
Shared& shared_memory();

// One operation in which all lanes of a warp meet. Lanes can be one meeting apart, so what a lane brings and
// takes is kept for two.
enum class Meeting { none, sync, vote, shuffle, mma, matrices, matrices_transposed };
struct Lane {
    std::array<std::uint32_t, 4> a, result;
    std::array<std::uint32_t, 2> b;
    std::array<float, 4> c;
    const unsigned char* row;
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

// Brings `lane` to the meeting, and returns it as `complete` has left it, which the last to come runs for
// all.
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

void run_grid(const device::Launch& geometry, const std::function<void(unsigned char*)>& kernel);

float to_float(device::Bf16 value);
float to_float(device::Fp16 value);
void round_to(float value, device::Bf16& result);
void round_to(float value, device::Fp16& result);

}  // namespace switchyard::emulation
