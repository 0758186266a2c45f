#include <switchyard/reference/quantized_weight.h>

#include <sstream>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/round.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace switchyard::reference {
namespace {

// Legend:  O out  I in  G groups  C columns of a group
std::int64_t columns_of(std::int64_t group, std::int64_t in) { return group == 0 ? in : group; }

// [O, G, C], filled up with zeros.
at::Tensor grouped(const at::Tensor& x_OI, std::int64_t group) {
    const std::int64_t columns = columns_of(group, x_OI.size(1));
    const std::int64_t rest = columns == 0 ? 0 : (columns - x_OI.size(1) % columns) % columns;
    const at::Tensor filled = rest == 0 ? x_OI : at::constant_pad_nd(x_OI, {0, rest});
    const std::int64_t groups = columns == 0 ? 1 : filled.size(1) / columns;
    return filled.reshape({x_OI.size(0), groups, columns});
}

at::Tensor ungrouped(const at::Tensor& x_OGC, std::int64_t in) {
    return x_OGC.flatten(1).narrow(1, 0, in).contiguous();
}

at::Tensor or_one(const at::Tensor& scales) { return at::where(scales.eq(0), at::ones_like(scales), scales); }

// The value of the largest magnitude in each group, with its sign: [O, G].
at::Tensor farthest(const at::Tensor& x_OGC) {
    if (x_OGC.size(2) == 0) return x_OGC.sum(2);
    return x_OGC.gather(2, x_OGC.abs().argmax(2, true)).squeeze(2);
}

void check(const at::Tensor& weight_OI, const WeightQuantization& how) {
    if (how.bits != 8 && how.bits != 4)
        throw std::invalid_argument("a weight is quantized in 8 or 4 bits, not " + std::to_string(how.bits));
    if (how.group < 0 || how.group % 16 != 0)
        throw std::invalid_argument("a group has a multiple of 16 columns, not " + std::to_string(how.group));
    if (!at::isfinite(weight_OI).all().item<bool>())
        throw std::invalid_argument("a weight with values that are not finite cannot be quantized");
}

}  // namespace

QuantizedWeight quantized(const at::Tensor& weight_OI, const WeightQuantization& how) {
    check(weight_OI, how);
    const at::Tensor weight = weight_OI.detach().to(at::kFloat).contiguous();
    const std::int64_t in = weight.size(1);
    const at::Tensor x_OGC = grouped(weight, how.group);
    const double lowest = how.bits == 4 ? -8.0 : -127.0, highest = how.bits == 4 ? 7.0 : 127.0;
    QuantizedWeight made;
    made.in = in;
    made.group = how.group;
    if (how.zero_points && in > 0) {
        // A range without 0 would have a zero point far away, whose product loses digits to cancellation.
        const at::Tensor low = x_OGC.amin(2).clamp_max(0.0), high = x_OGC.amax(2).clamp_min(0.0);
        made.scales = or_one((high - low) / (highest - lowest)).contiguous();
        made.zero_points = (lowest - low / made.scales).contiguous();
    } else {
        const at::Tensor most = farthest(x_OGC);
        made.scales = or_one(how.bits == 4 ? most / lowest : most.abs() / highest).contiguous();
    }
    at::Tensor steps_OGC = x_OGC / made.scales.unsqueeze(2);
    if (made.zero_points.defined()) steps_OGC = steps_OGC + made.zero_points.unsqueeze(2);
    const at::Tensor integers_OI = ungrouped(at::round(steps_OGC).clamp(lowest, highest), in).to(at::kChar);
    made.values = how.bits == 4 ? packed(integers_OI) : integers_OI;
    return made;
}

at::Tensor packed(const at::Tensor& integers_OI) {
    const at::Tensor codes = (integers_OI.to(at::kShort) + 8).to(at::kByte);
    const at::Tensor even = at::constant_pad_nd(codes, {0, codes.size(1) % 2}, 8);
    const at::Tensor pairs = even.reshape({even.size(0), even.size(1) / 2, 2});
    return at::bitwise_or(pairs.select(2, 0), pairs.select(2, 1) * 16).contiguous();
}

at::Tensor unpacked(const QuantizedWeight& weight) {
    if (weight.bits() == 8) return weight.values;
    const at::Tensor low = at::bitwise_and(weight.values, 15), high = weight.values.div(16, "floor");
    const at::Tensor codes = at::stack({low, high}, 2).flatten(1).narrow(1, 0, weight.in);
    return codes.to(at::kChar) - 8;
}

at::Tensor dequantized(const QuantizedWeight& weight) {
    at::Tensor x_OGC = grouped(unpacked(weight).to(at::kFloat), weight.group);
    if (weight.zero_points.defined()) x_OGC = x_OGC - weight.zero_points.unsqueeze(2);
    return ungrouped(x_OGC * weight.scales.unsqueeze(2), weight.in);
}

at::Tensor requantized_input(const at::Tensor& x, const at::Tensor& input_scale) {
    const at::Tensor wide = x.to(at::kFloat);
    if (wide.numel() == 0) return wide;
    const at::Tensor finite = at::isfinite(wide);
    const at::Tensor largest = at::where(finite, wide.abs(), at::zeros_like(wide)).amax(-1, true);
    const at::Tensor scale = input_scale.defined() ? input_scale : or_one(largest / 127.0);
    return at::where(finite, at::round(wide / scale).clamp(-127.0, 127.0) * scale, wide);
}

std::string problem_of(const QuantizedWeight& weight, std::int64_t out, std::int64_t in) {
    std::ostringstream text;
    const auto shaped = [&](const char* what, const at::Tensor& x, at::ScalarType type,
                            const std::vector<std::int64_t>& sizes) {
        if (!x.defined())
            text << what << " are missing";
        else if (x.scalar_type() != type || x.sizes() != at::IntArrayRef(sizes))
            text << what << " are " << x.scalar_type() << " " << x.sizes() << ", expected " << type << " "
                 << at::IntArrayRef(sizes);
        return text.str().empty();
    };
    if (!weight.values.defined()) return "values are missing";
    if (weight.in != in)
        return "it has " + std::to_string(weight.in) + " columns, expected " + std::to_string(in);
    if (weight.group < 0 || weight.group % 16 != 0)
        return "groups of " + std::to_string(weight.group) + " columns, expected a multiple of 16";
    const bool half = weight.bits() == 4;
    if (!shaped("values", weight.values, half ? at::kByte : at::kChar, {out, half ? (in + 1) / 2 : in}) ||
        !shaped("scales", weight.scales, at::kFloat, {out, weight.groups()}))
        return text.str();
    if (weight.zero_points.defined() &&
        !shaped("zero points", weight.zero_points, at::kFloat, {out, weight.groups()}))
        return text.str();
    if (!at::isfinite(weight.scales).all().item<bool>()) return "a scale is not finite";
    if (weight.zero_points.defined() && !at::isfinite(weight.zero_points).all().item<bool>())
        return "a zero point is not finite";
    if (!half && weight.values.eq(-128).any().item<bool>()) return "a value is -128, expected -127..127";
    if (!weight.input_scale.defined()) return "";
    if (!shaped("input scales", weight.input_scale, at::kFloat, {})) return text.str();
    const auto scale = weight.input_scale.item<float>();
    return scale > 0.0F && scale < 1e30F ? "" : "the input scale is not a positive number";
}

}  // namespace switchyard::reference
