// Operands in 8 bits with scales, for calls of linear layers (linear.h).
//
// So that one dense matrix is what every form of it means - by rows, by columns, whatever shares a scale -
// its numbers are such that no form rounds them: few digits, magnitudes close to each other, and scales that
// are powers of two times one factor for the whole matrix.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/linear.h>

namespace switchyard::conformance {

// What a matrix is in a product. x and weight come in E4M3, gradients in E5M2.
enum class OperandRole : std::uint8_t { x, weight, gradient };

// Numbers for an operand [rows, columns], float64 on the CPU, which bfloat16 holds without rounding. From row
// to row and from block to block their magnitudes differ by powers of two.
at::Tensor scaled_numbers(std::int64_t rows, std::int64_t columns, OperandRole role, std::uint64_t seed);

// The matrix [rows, columns] in 8 bits, by the largest magnitude of each group. NaN stays the value it is and
// counts in no scale. NaN lies around the values and the scales if the variation says so.
LinearOperand scaled_operand(const at::Tensor& dense, OperandRole role, ScaleGroup group, Placement placement,
                             const Variation& variation);

}  // namespace switchyard::conformance
