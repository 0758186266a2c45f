#include "panels.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

#include <switchyard/reference/quantized_weight.h>

namespace switchyard::int8 {
namespace {

constexpr std::int64_t word_columns = 8;  // of 4 bits in one int32

// [O, ...] with rows of zeros up to whole panels: [panels, 16, ...].
at::Tensor in_panels(const at::Tensor& x) {
    const std::int64_t out = x.size(0), rest = (panel_outputs - out % panel_outputs) % panel_outputs;
    std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * x.dim()), 0);
    pad.back() = rest;
    const at::Tensor filled = rest == 0 ? x : at::constant_pad_nd(x, pad);
    auto sizes = filled.sizes().vec();
    sizes[0] = panel_outputs;
    sizes.insert(sizes.begin(), (out + rest) / panel_outputs);
    return filled.reshape(sizes);
}

// [O, groups] as [panels, groups, 16].
at::Tensor facts_in_panels(const at::Tensor& x_OG) { return in_panels(x_OG).transpose(1, 2).contiguous(); }

// Sizes, scales and the integers [O, columns], filled up.
at::Tensor begin(const QuantizedWeight& weight, std::int64_t multiple, Panels& made) {
    made.out = weight.out();
    made.in = weight.in;
    made.groups = weight.groups();
    made.columns = (weight.in + multiple - 1) / multiple * multiple;
    made.group = weight.group == 0 ? made.columns : weight.group;
    made.scales = facts_in_panels(weight.scales);
    if (weight.zero_points.defined()) made.offsets = facts_in_panels(weight.scales * weight.zero_points);
    made.input_scale = weight.input_scale;
    return at::constant_pad_nd(reference::unpacked(weight), {0, made.columns - weight.in});
}

at::Tensor sums_of_weight(const at::Tensor& integers_OI, const Panels& made) {
    const std::int64_t whole = made.group * made.groups;
    const at::Tensor filled = at::constant_pad_nd(integers_OI.to(at::kInt), {0, whole - made.columns});
    const at::Tensor sums = filled.reshape({filled.size(0), made.groups, made.group}).sum(2, false, at::kInt);
    return facts_in_panels(sums);
}

}  // namespace

std::int64_t Panels::panels_of_a_part() const {
    constexpr std::int64_t bytes_of_a_part = 16384;
    return std::max<std::int64_t>(bytes_of_a_part / std::max<std::int64_t>(panel_bytes(), 1), 1);
}

void store_panel(const Panels& weight, std::int64_t panel, const float* sums, std::int64_t rows,
                 const float* bias, float* y) {
    const std::int64_t output = panel * panel_outputs, some = std::min(panel_outputs, weight.out - output);
    const auto store = [&](std::int64_t outputs) {
        for (std::int64_t r = 0; r < rows; ++r) {
            float* const to = y + r * weight.out + output;
            for (std::int64_t o = 0; o < outputs; ++o)
                to[o] = sums[r * panel_outputs + o] + (bias == nullptr ? 0.0F : bias[output + o]);
        }
    };
    // Of a whole panel in whole vectors.
    some == panel_outputs ? store(panel_outputs) : store(some);
}

std::int64_t Panels::bytes() const {
    std::size_t sum = 0;
    for (const at::Tensor* part : {&values, &scales, &offsets, &sums})
        sum += part->defined() ? part->nbytes() : 0;
    return static_cast<std::int64_t>(sum);
}

Panels byte_panels(const QuantizedWeight& weight, std::int64_t step) {
    Panels made;
    made.step = step;
    const at::Tensor integers_OI = begin(weight, 4, made);
    made.sums = sums_of_weight(integers_OI, made);
    const at::Tensor panels = in_panels(integers_OI);
    made.values = panels.reshape({panels.size(0), panel_outputs, made.columns / step, step})
                      .transpose(1, 2)
                      .contiguous();
    return made;
}

Panels weight_panels(const QuantizedWeight& weight) {
    Panels made;
    made.halves = weight.bits() == 4;
    const std::int64_t multiple = made.halves ? word_columns : 4;
    const at::Tensor panels =
        in_panels(begin(weight, multiple, made)).transpose(1, 2);  // [panels, columns, 16]
    if (!made.halves) {
        made.values = panels.contiguous();
        return made;
    }
    const at::Tensor eight =
        panels.reshape({panels.size(0), made.columns / word_columns, word_columns, panel_outputs});
    made.values = at::zeros({panels.size(0), made.columns / word_columns, panel_outputs}, at::kInt);
    for (std::int64_t column = 0; column < word_columns; ++column)
        made.values.bitwise_or_(
            at::bitwise_left_shift(at::bitwise_and(eight.select(2, column).to(at::kInt), 15), 4 * column));
    return made;
}

}  // namespace switchyard::int8
