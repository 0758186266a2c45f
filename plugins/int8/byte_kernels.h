// Products of integers in 8 bits, exact, with the instructions that the processor has: VNNI's dot products of
// four bytes (Intel, Architecture Instruction Set Extensions: VPDPBUSD), or AVX2's of two numbers of 16 bits.
//
// A tile is some rows of x times one panel of 16 outputs (panels.h):
//
//     sums[row * 16 + output] = sum over the columns of (x + bias of the kernel) * weight
//
// VNNI takes x without a sign, so x is stored with 128 added; what that adds to a sum is 128 times the sum of
// the weights. AVX2 takes x in 16 bits as it is: its product of bytes would lose what does not fit 16 bits.
#pragma once

#include <cstdint>

namespace switchyard::int8 {

inline constexpr std::int64_t most_tile_rows = 6;

struct ByteKernels {
    const char* name;           // "avx512_vnni", "avx_vnni", "avx2", "plain"
    std::int64_t step;          // columns side by side in a panel
    std::int64_t number_bytes;  // of one x
    std::int32_t added;         // to x
    std::int64_t tile_rows;     // the most of a tile, whose sums the registers hold
    // x: rows of numbers, `stride` bytes apart. `columns` is a multiple of 4.
    void (*tile)(const void* x, std::int64_t stride, std::int64_t rows, const std::int8_t* panel,
                 std::int64_t columns, std::int32_t* sums);
};

// The best that this processor has.
const ByteKernels& byte_kernels();
// That of a name, or nullptr where the processor does not have it: for tests and measurements.
const ByteKernels* byte_kernels(const char* name);

}  // namespace switchyard::int8
