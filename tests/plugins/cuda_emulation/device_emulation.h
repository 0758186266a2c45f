// What plugins/flash/cuda/device.h adds to the SDK's device layer, for the host: included by it where kernel
// sources are compiled as plain C++.
//
// Fragment layouts are those of PTX ISA 8.7, sections 9.7.14.5.8 (mma.m16n8k16) and 9.7.14.5.15 (ldmatrix);
// device_test.cpp holds them against an independent statement.
#pragma once

#include "grid_emulation.h"

namespace switchyard::flash_cuda {

using std::max;  // which device code has without asking
using std::min;

}  // namespace switchyard::flash_cuda

namespace switchyard::flash_cuda::device {

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

inline float log2(float x) { return std::log2(x); }
inline float tanh(float x) { return std::tanh(x); }

inline void atomic_add(float* place, float value) { *place += value; }
inline void visit_tile(int sequence, int head, int row_tile, int column_tile) {
    if (thread() == 0) emulation::statistics().visits.push_back({sequence, head, row_tile, column_tile});
}

template <class Kernel>
void launch(const Kernel& kernel, const Launch& geometry, void* stream) {
    switchyard::device::launch(kernel, geometry, stream);
}

}  // namespace switchyard::flash_cuda::device
