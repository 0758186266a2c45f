// Kernels on rows of floats, for whichever vectors the processor has: inputs in 8 bits, and products of a few
// rows with a panel of a weight in 8 or 4 bits that are made of floats.
#pragma once

#include <cstdint>

namespace switchyard::tiles {
struct Functions;
}

namespace switchyard::int8 {

inline constexpr std::int64_t most_float_rows = 4;

// Bytes. A line of a weight in 4 or 8 bits takes many instructions, so those that a processor has in flight
// reach only a few lines ahead, too few to hide the latency of memory.
inline constexpr int fetched_ahead = 4096;

// Some rows of x times a panel (panels.h, weight_panels).
struct PanelCall {
    const float* x;  // [rows, columns], filled up with zeros
    std::int64_t rows, columns;
    std::int64_t group, groups;
    const float* x_sums;  // [rows, groups]: of a group's x; read where there are offsets
    const std::int8_t* panel;
    const float* scales;   // [groups, 16]
    const float* offsets;  // [groups, 16] or nullptr
    float* y;              // [rows, 16]
};

// Sums of integers of some rows and a panel's group, and what makes floats of them.
struct GroupSums {
    const std::int32_t* sums;  // [rows, 16]
    std::int64_t rows;
    const std::int32_t* weight_sums;  // [16]
    std::int32_t added;               // to each x
    const float* scales;              // [16]
    const float* factors;             // [rows]: the scales of x
    float* y;                         // [rows, 16]
    std::int64_t stride;              // floats from one row of y to the next
};

struct RowKernels {
    // The largest magnitude of n values; NaN where one is.
    float (*largest)(const float* x, std::int64_t n);
    // round(x / scale) in -127..127, ties to even, plus `added`, as int16 or uint8. NaN gives any number.
    void (*to_int16)(const float* x, std::int64_t n, float scale, std::int16_t* to);
    void (*to_uint8)(const float* x, std::int64_t n, float scale, std::int32_t added, std::uint8_t* to);
    void (*bytes)(const PanelCall& call);   // a panel of bytes with a step of 1
    void (*halves)(const PanelCall& call);  // of values of 4 bits
    // 16 values each of `n` columns, times their scales less their offsets: to[k * stride + o].
    void (*decode_bytes)(const std::int8_t* from, std::int64_t n, const float* scales, const float* offsets,
                         float* to, std::int64_t stride);
    void (*decode_halves)(const std::int8_t* from, std::int64_t n, const float* scales, const float* offsets,
                          float* to, std::int64_t stride);
    // y[r, o] += factors[r] * scales[o] * (sums[r, o] - added * weight_sums[o])
    void (*add_scaled)(const GroupSums& sums);
};

const RowKernels& row_kernels();
// For products in tiles (<switchyard/sdk/cpu/tile_product.h>).
const tiles::Functions& tile_functions();

}  // namespace switchyard::int8
