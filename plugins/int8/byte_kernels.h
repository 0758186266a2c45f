// Products of integers in 8 bits, exact, with the instructions that the processor has: VNNI's dot products of
// four bytes (Intel, Architecture Instruction Set Extensions: VPDPBUSD), or AVX2's of two numbers of 16 bits.
//
// A tile is some rows of x times some panels of 16 outputs each (panels.h):
//
//     sums[(panel * rows + row) * 16 + output] = sum over the columns of (x + added) * weight
//
// With more than one panel a loaded x serves several products: the sums of all must fit the registers.
//
// VNNI takes x without a sign, so x is stored with 128 added; what that adds to a sum is 128 times the sum of
// the weights. AVX2 takes x in 16 bits as it is: its product of bytes would lose what does not fit 16 bits.
#pragma once

#include <cstdint>

namespace switchyard::int8 {

inline constexpr std::int64_t most_tile_rows = 6, most_tile_panels = 4;

struct ByteTile {
    const void* x;              // rows of numbers
    std::int64_t stride, rows;  // bytes from one row to the next
    const std::int8_t* panels;
    std::int64_t panel_stride, count;  // bytes from one panel to the next; how many panels
    std::int64_t columns;              // a multiple of 4
    std::int32_t* sums;                // [count, rows, 16]
};

struct ByteKernels {
    const char* name;           // "avx512_vnni", "avx_vnni", "avx2", "plain"
    std::int64_t step;          // columns side by side in a panel
    std::int64_t number_bytes;  // of one x
    std::int32_t added;         // to x
    std::int64_t tile_rows;     // the most of a tile
    std::int64_t tile_panels;   // the most of a tile
    void (*tile)(const ByteTile& tile);
};

// The best that this processor has.
const ByteKernels& byte_kernels();
// That of a name, or nullptr where the processor does not have it: for tests and measurements.
const ByteKernels* byte_kernels(const char* name);

}  // namespace switchyard::int8
