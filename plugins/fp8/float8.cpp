#include "float8.h"

#include <limits>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/where.h>

#include "device_cast.h"

namespace switchyard::fp8 {
namespace {

// Legend:  R rows  C columns  K groups of columns  G groups of rows
std::int64_t blocks_of(std::int64_t size) { return (size + block - 1) / block; }

at::Tensor padded_to_blocks(const at::Tensor& x, bool rows) {
    const std::int64_t more_columns = blocks_of(x.size(1)) * block - x.size(1);
    const std::int64_t more_rows = rows ? blocks_of(x.size(0)) * block - x.size(0) : 0;
    if (more_columns == 0 && more_rows == 0) return x;
    return at::constant_pad_nd(x, {0, more_columns, 0, more_rows}, 0.0);
}

// A number for each group, at every place of the group.
at::Tensor spread(const at::Tensor& numbers, Grouping grouping, std::int64_t rows, std::int64_t columns) {
    if (grouping == Grouping::tensor || grouping == Grouping::row) return numbers;
    at::Tensor wide = numbers.repeat_interleave(block, 1);
    if (grouping == Grouping::square) wide = wide.repeat_interleave(block, 0).narrow(0, 0, rows);
    return wide.narrow(1, 0, columns);
}

}  // namespace

at::ScalarType scalar_type(Format format) {
    return format == Format::e4m3 ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
}

float largest(Format format) { return format == Format::e4m3 ? 448.0F : 57344.0F; }

at::Tensor saturating_cast(const at::Tensor& x, Format format) {
    return at::clamp(x, -largest(format), largest(format)).to(scalar_type(format));
}

at::Tensor amax_of(const at::Tensor& x, Grouping grouping) {
    const at::Tensor magnitude_RC = at::abs(x.to(at::kFloat));
    switch (grouping) {
        case Grouping::tensor:
            return at::amax(magnitude_RC);
        case Grouping::row:
            return at::amax(magnitude_RC, 1, true);
        case Grouping::strip: {
            const at::Tensor whole = padded_to_blocks(magnitude_RC, false);
            return at::amax(whole.reshape({whole.size(0), -1, block}), 2);
        }
        case Grouping::square: {
            const at::Tensor whole = padded_to_blocks(magnitude_RC, true);
            return at::amax(whole.reshape({-1, block, blocks_of(x.size(1)), block}), {1, 3});
        }
    }
    throw std::logic_error("fp8: an unknown grouping");
}

at::Tensor scale_of(const at::Tensor& amax, Format format, bool power_of_two) {
    at::Tensor scale =
        at::clamp_max(at::full_like(amax, largest(format)).div_(amax), std::numeric_limits<float>::max());
    if (power_of_two) scale = scale.view(at::kInt).bitwise_and(0x7F800000).view(at::kFloat);
    return at::where(amax.gt(0.0).logical_and(amax.isfinite()), scale, 1.0F);
}

Scaled quantize(const at::Tensor& x, Format format, Grouping grouping, const at::Tensor& scale) {
    if (x.is_cuda() && grouping == Grouping::tensor)
        return cast_on_device(x, format, scale.defined() ? scale : scale_of(amax_of(x, grouping), format));
    const at::Tensor x_RC = x.to(at::kFloat);
    const bool blocks = grouping == Grouping::strip || grouping == Grouping::square;
    const at::Tensor amax = amax_of(x_RC, grouping);
    const at::Tensor used = scale.defined() ? scale : scale_of(amax, format, blocks);
    Scaled result;
    result.grouping = grouping;
    result.amax = at::amax(amax);
    result.values = saturating_cast(x_RC * spread(used, grouping, x.size(0), x.size(1)), format);
    result.inverse =
        at::where(amax.isfinite(), at::reciprocal(used), std::numeric_limits<float>::quiet_NaN());
    return result;
}

at::Tensor decode(const Scaled& x) {
    return x.values.to(at::kFloat) * spread(x.inverse, x.grouping, x.values.size(0), x.values.size(1));
}

Scaled transposed(const Scaled& x) {
    if (x.grouping == Grouping::row || x.grouping == Grouping::strip)
        throw std::logic_error("fp8: scales of rows are not those of columns");
    const bool square = x.grouping == Grouping::square;
    return {x.values.t().contiguous(), square ? x.inverse.t().contiguous() : x.inverse, x.amax, x.grouping};
}

}  // namespace switchyard::fp8
