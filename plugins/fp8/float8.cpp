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

#include <switchyard/reference/linear.h>

#include "device_cast.h"

namespace switchyard::fp8 {
namespace {

// Legend:  R rows  C columns
std::int64_t blocks_of(std::int64_t size) { return (size + scale_block - 1) / scale_block; }

at::Tensor padded_to_blocks(const at::Tensor& x, bool rows) {
    const std::int64_t more_columns = blocks_of(x.size(1)) * scale_block - x.size(1);
    const std::int64_t more_rows = rows ? blocks_of(x.size(0)) * scale_block - x.size(0) : 0;
    if (more_columns == 0 && more_rows == 0) return x;
    return at::constant_pad_nd(x, {0, more_columns, 0, more_rows}, 0.0);
}

}  // namespace

at::ScalarType scalar_type(Format format) {
    return format == Format::e4m3 ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
}

float largest(Format format) { return format == Format::e4m3 ? 448.0F : 57344.0F; }

at::Tensor saturating_cast(const at::Tensor& x, Format format) {
    return at::clamp(x, -largest(format), largest(format)).to(scalar_type(format));
}

at::Tensor amax_of(const at::Tensor& x, ScaleGroup group) {
    const at::Tensor magnitude_RC = at::abs(x.to(at::kFloat));
    switch (group) {
        case ScaleGroup::tensor:
            return at::amax(magnitude_RC);
        case ScaleGroup::row:
            return at::amax(magnitude_RC, 1, true);
        case ScaleGroup::strip: {
            const at::Tensor whole = padded_to_blocks(magnitude_RC, false);
            return at::amax(whole.reshape({whole.size(0), -1, scale_block}), 2);
        }
        case ScaleGroup::square: {
            const at::Tensor whole = padded_to_blocks(magnitude_RC, true);
            return at::amax(whole.reshape({-1, scale_block, blocks_of(x.size(1)), scale_block}), {1, 3});
        }
    }
    throw std::logic_error("fp8: an unknown group of values");
}

at::Tensor scale_of(const at::Tensor& amax, Format format, bool power_of_two) {
    at::Tensor scale =
        at::clamp_max(at::full_like(amax, largest(format)).div_(amax), std::numeric_limits<float>::max());
    if (power_of_two) scale = scale.view(at::kInt).bitwise_and(0x7F800000).view(at::kFloat);
    return at::where(amax.gt(0.0).logical_and(amax.isfinite()), scale, 1.0F);
}

Scaled quantize(const at::Tensor& x, Format format, ScaleGroup group, const at::Tensor& scale) {
    if (x.is_cuda() && group == ScaleGroup::tensor)
        return cast_on_device(x, format, scale.defined() ? scale : scale_of(amax_of(x, group), format));
    const at::Tensor x_RC = x.to(at::kFloat);
    const bool blocks = group == ScaleGroup::strip || group == ScaleGroup::square;
    const at::Tensor amax = amax_of(x_RC, group);
    const at::Tensor used = scale.defined() ? scale : scale_of(amax, format, blocks);
    // Multiplied with its scales as what was cast is multiplied with their inverses.
    const at::Tensor scaled_RC = reference::unscaled({x_RC, used, group});
    const at::Tensor inverse =
        at::where(amax.isfinite(), at::reciprocal(used), std::numeric_limits<float>::quiet_NaN());
    return {{saturating_cast(scaled_RC, format).contiguous(), inverse, group}, at::amax(amax)};
}

LinearOperand transposed(const LinearOperand& x) {
    if (!turns(x.group)) throw std::logic_error("fp8: scales of rows are not those of columns");
    const bool square = x.group == ScaleGroup::square;
    return {x.values.t().contiguous(), square ? x.inverse_scale.t().contiguous() : x.inverse_scale, x.group};
}

}  // namespace switchyard::fp8
