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

namespace switchyard::fp8 {

enum class Format : std::uint8_t { e4m3, e5m2 };

at::ScalarType scalar_type(Format format);
float largest(Format format);

// What shares a scale. Rows are those of the matrix as it stands, so that a product's inner dimension is
// always the last.
enum class Grouping : std::uint8_t {
    tensor,  // all of it: scales []
    row,     // each row: [rows, 1]
    strip,   // 128 values of a row: [rows, ceil(columns / 128)]
    square   // 128 x 128 values: [ceil(rows / 128), ceil(columns / 128)]
};
constexpr std::int64_t block = 128;

// values * inverse is what is meant. The inverse of a group that held infinity or NaN is NaN: a saturated
// cast would hide them.
struct Scaled {
    at::Tensor values;   // [rows, columns], float8
    at::Tensor inverse;  // 1 / scale, float32, in the form of its grouping
    at::Tensor amax;     // [], float32: the largest magnitude before the cast, NaN if a value was
    Grouping grouping = Grouping::tensor;
};

// x in float32, cast without a scale.
at::Tensor saturating_cast(const at::Tensor& x, Format format);

// The largest magnitude of each group of x [rows, columns], in the form of `grouping`.
at::Tensor amax_of(const at::Tensor& x, Grouping grouping);

// largest / amax, never infinite, and 1 where amax is 0 or not finite; a power of two if that is asked for,
// the next below. As TransformerEngine scales by present values (docs/examples/fp8_primer and
// common/recipe/__init__.py of v2: Float8CurrentScaling, and powers of two for Float8BlockScaling).
at::Tensor scale_of(const at::Tensor& amax, Format format, bool power_of_two = false);

// Scales and casts x [rows, columns], not empty: with `scale` [] where that is given (grouping tensor), else
// by the amax of each group, in powers of two for strips and squares.
Scaled quantize(const at::Tensor& x, Format format, Grouping grouping, const at::Tensor& scale = {});

// Float32.
at::Tensor decode(const Scaled& x);

// The transpose of `x`, where its scales allow it (tensor, square).
Scaled transposed(const Scaled& x);

}  // namespace switchyard::fp8
