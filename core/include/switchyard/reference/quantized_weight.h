// Weights and inputs of linear layers in 8 and 4 bits (interfaces/linear.h): how they are made, plainly, and
// what they mean.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/linear.h>

namespace switchyard::reference {

// How a weight [out, in] is quantized.
struct WeightQuantization {
    std::int64_t bits = 8;   // 8 or 4
    std::int64_t group = 0;  // columns that share a scale, a multiple of 16; 0: all of a row
    bool zero_points = false;
};

// Each value to the nearest, ties to even. Of a group without zero points the value of the largest magnitude
// becomes 127 or -127 and, of 4 bits, -8 (so a scale may be negative); with them the smallest, or 0, becomes
// the lowest integer and the largest, or 0, the highest. A group of zeros has the scale 1. Throws
// std::invalid_argument for values that are not finite, and for other bits or groups.
QuantizedWeight quantized(const at::Tensor& weight_OI, const WeightQuantization& how);

// float32 [out, in].
at::Tensor dequantized(const QuantizedWeight& weight);

// The integers, int8 [out, in].
at::Tensor unpacked(const QuantizedWeight& weight);
// Two values of -8..7 in each byte: from int8 [out, in].
at::Tensor packed(const at::Tensor& integers_OI);

// What x [..., in] becomes in 8 bits, as float32; `input_scale` undefined: with a scale for each row.
// What is not finite stays as it is, and counts in no scale.
at::Tensor requantized_input(const at::Tensor& x, const at::Tensor& input_scale);

// What is wrong with a weight that is to be [out, in], in words, its numbers looked at too; empty: nothing.
std::string problem_of(const QuantizedWeight& weight, std::int64_t out, std::int64_t in);

}  // namespace switchyard::reference
