// Products of float32 inputs with weights of whole numbers that are made of integers: x of some columns is
// written in fixed point, 23 bits and a sign under the largest magnitude among them, as three digits to the
// base 256 with signs of their own (-128..127). The sums of digits times weights are integers, and exact:
// VNNI's dot products of four bytes (Intel, Architecture Instruction Set Extensions: VPDPBUSD) take three
// instructions for 64 values, where products of floats take twelve, with those that make floats of weights.
// To split a number into parts that a unit for short integers multiplies exactly: Ootomo, Ozaki, Yokota 2024,
// DGEMM on integer matrix multiplication unit, Int. J. High Perform. Comput. Appl. 38.
//
// What is lost is what float32 would lose beside that largest value: 2^-23 of it for each x, at most.
#pragma once

#include <cstdint>

namespace switchyard::int8 {

inline constexpr std::int64_t digit_count = 3;
// Columns that share a largest magnitude, at most: sums of a block fit the 24 bits of a float.
inline constexpr std::int64_t digit_block = 256;
inline constexpr std::int64_t most_digit_rows = 4;

// A row of x, one of some that stand side by side, in blocks of at most digit_block columns, none of which
// reaches into the next group. What is made of it stands in arrays of all of them, as DigitCall has them.
struct RowSplit {
    const float* x;
    std::int64_t in;  // numbers of x; the columns behind them are zeros
    std::int64_t columns, group;
    std::int64_t row, rows;
    bool halves;  // for weights of 4 bits: even columns first, of each eight
    std::int32_t* digits;
    std::int32_t* sums;
    float* block_scales;
    float* x_sums;
};

// Some rows times a panel (panels.h, weight_panels), of either kind; one row times two of them, for memory is
// read faster from two places at once.
struct DigitCall {
    // [columns / 4][rows][4]: of four columns the bytes of each digit, and four that mean nothing
    const std::int32_t* digits;
    std::int64_t rows, columns;
    std::int64_t group, groups;
    // Of each block of each group, in their order:
    const std::int32_t* sums;   // [blocks][rows][3]: of digits, what the sign of weights adds taken off
    const float* block_scales;  // [blocks][rows]: what one of the fixed-point numbers is
    const float* x_sums;        // [groups][rows]: of a group's x; read where there are offsets
    const std::int8_t* panel;
    const float* scales;   // [groups, 16]
    const float* offsets;  // [groups, 16] or nullptr
    float* y;              // [rows, 16]; of two panels [2, 16]
    // Of two panels: how far behind the first one's bytes, scales and offsets the second one's are. 0: one.
    std::int64_t bytes_between = 0, factors_between = 0;
};

struct DigitKernels {
    const char* name;  // "avx512_vnni"
    // False, and the arrays mean nothing: a number is not finite, or a block that is not all zeros is smaller
    // than 2^-104.
    bool (*split)(const RowSplit& row);
    void (*bytes)(const DigitCall& call);   // a panel of bytes with a step of 1
    void (*halves)(const DigitCall& call);  // of values of 4 bits
};

// nullptr where the processor has no such instructions.
const DigitKernels* digit_kernels();

// What weights have added to be without a sign.
constexpr std::int32_t added_to_weights(bool halves) { return halves ? 8 : 128; }

}  // namespace switchyard::int8
