// The numbers in the blocks of a tensor (layouts: ggml, ggml-common.h; what each stands for: its
// dequantize_row_* functions and the README of llama.cpp's k-quants).
//
//   F32, F16, BF16   one number each
//   Q8_0   32 numbers: float16 scale d, 32 int8 q                            x = d q
//   Q4_0   32: float16 d, 16 bytes of two q in 0..15                         x = d (q - 8)
//   Q4_1   32: float16 d, float16 minimum m, 16 bytes                        x = d q + m
//   Q4_K   256 in 8 groups of 32: float16 d and m, 12 bytes with 6-bit scales s and minima t of the groups,
//          128 bytes                                                         x = d s q - m t
//   Q6_K   256 in 16 groups of 16: lower 4 bits, upper 2 bits, int8 scales s, float16 d    x = d s (q - 32)
// In the 4-bit types with 32 numbers byte i has number i in its lower half and number i + 16 in its upper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/workbench/gguf/tensor_type.h"

namespace switchyard::gguf {

// Rounds nothing but what float32 arithmetic rounds. `type` is readable; `data` has whole blocks, and
// `values` as many numbers as they hold.
void dequantize(const TensorType& type, const std::byte* data, std::span<float> values);

// Blocks as they are, for linear layers that multiply quantized weights (interfaces/linear.h):
//   x[i] = scales[i / 32] * (values[i] - zero_points[i / 32])
// Q8_0: values from -128 to 127; Q4_0 and Q4_1: from -8 to 7. Only Q4_1 has zero points, which are not whole:
// a block whose scale is 0 is its minimum times 1.
struct QuantizedGroups {
    static constexpr std::int64_t size = 32;
    int bits = 8;  // 8 or 4
    bool has_zero_points = false;
};
// nullptr: numbers of this type do not come in such groups.
const QuantizedGroups* groups_of(const TensorType& type);

// Of types with groups; a byte a number. `zero_points` is empty where the type has none.
void split_groups(const TensorType& type, const std::byte* data, std::span<std::int8_t> values,
                  std::span<float> scales, std::span<float> zero_points);

}  // namespace switchyard::gguf
