// The two formats of FP8 training (Micikevicius et al. 2022, arXiv:2209.05433; OCP OFP8 1.0, 2023), and
// matrices in them with their scales.
//
//     E4M3  values and weights: 4 bits of exponent, largest 448, no infinity (LibTorch's Float8_e4m3fn)
//     E5M2  gradients: 5 bits of exponent, largest 57344, as IEEE 754 would have it
//
// Casts round to nearest, ties to even, and saturate: what is larger than the largest value becomes the
// largest, infinity too; NaN stays NaN.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/linear.h>

namespace switchyard::fp8 {

enum class Format : std::uint8_t { e4m3, e5m2 };

at::ScalarType scalar_type(Format format);
float largest(Format format);

// The inverse scale of a group that held infinity or NaN is NaN: a saturated cast would hide them.
struct Scaled {
    LinearOperand operand;  // values in float8, contiguous
    at::Tensor amax;        // [], float32: the largest magnitude before the cast, NaN if a value was
};

// x in float32, cast without a scale.
at::Tensor saturating_cast(const at::Tensor& x, Format format);

// The largest magnitude of each group of x [rows, columns], in the form of `group`.
at::Tensor amax_of(const at::Tensor& x, ScaleGroup group);

// largest / amax, never infinite, and 1 where amax is 0 or not finite; a power of two if that is asked for,
// the next below. As TransformerEngine scales by present values (docs/examples/fp8_primer and
// common/recipe/__init__.py of v2: Float8CurrentScaling, and powers of two for Float8BlockScaling).
at::Tensor scale_of(const at::Tensor& amax, Format format, bool power_of_two = false);

// Scales and casts x [rows, columns], not empty: with `scale` [] where that is given (all of x shares it),
// else by the amax of each group, in powers of two for strips and squares.
Scaled quantize(const at::Tensor& x, Format format, ScaleGroup group, const at::Tensor& scale = {});

// Whether such scales hold for the columns as they do for the rows.
constexpr bool turns(ScaleGroup group) { return group == ScaleGroup::tensor || group == ScaleGroup::square; }

// The transpose of `x`, whose scales turn.
LinearOperand transposed(const LinearOperand& x);

}  // namespace switchyard::fp8
