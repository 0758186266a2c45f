#include "byte_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "byte_kernels.h"
#include "row_kernels.h"

namespace switchyard::int8 {
namespace {

// Rows that stay in a core's second cache while panels go by.
constexpr std::int64_t rows_of_a_block = 192;
// Bytes of weights and inputs that are worth a thread.
constexpr std::int64_t work_of_a_thread = 32768;

// x as the tiles read it.
struct Input {
    at::Tensor numbers;         // [R, stride] bytes
    std::int64_t stride = 0;    // bytes
    std::vector<float> scales;  // of rows
    at::Tensor sums;            // float32 [R, groups], of the integers; undefined without offsets
};

template <class Number>
void sum_groups(const Number* numbers, std::int32_t added, const Panels& weight, float* sums) {
    for (std::int64_t g = 0; g < weight.groups; ++g) {
        const std::int64_t first = g * weight.group, last = std::min(first + weight.group, weight.columns);
        std::int32_t sum = 0;
        for (std::int64_t k = first; k < last; ++k) sum += static_cast<std::int32_t>(numbers[k]) - added;
        sums[g] = static_cast<float>(sum);
    }
}

float scale_of(const float* row, const Panels& weight) {
    const float largest = row_kernels().largest(row, weight.in);
    // A row with NaN or infinity makes no number; cut off, infinity would look like one.
    if (!std::isfinite(largest)) return std::numeric_limits<float>::quiet_NaN();
    if (weight.input_scale.defined()) return *weight.input_scale.const_data_ptr<float>();
    const float scale = largest / 127.0F;
    return scale == 0.0F ? 1.0F : scale;
}

void convert(const float* row, const ByteKernels& kernels, const Panels& weight, float scale, void* to) {
    const auto rest = weight.columns - weight.in;
    if (kernels.number_bytes == 2) {
        auto* const numbers = static_cast<std::int16_t*>(to);
        row_kernels().to_int16(row, weight.in, scale, numbers);
        std::fill_n(numbers + weight.in, rest, std::int16_t{0});
    } else {
        auto* const numbers = static_cast<std::uint8_t*>(to);
        row_kernels().to_uint8(row, weight.in, scale, kernels.added, numbers);
        std::fill_n(numbers + weight.in, rest, static_cast<std::uint8_t>(kernels.added));
    }
}

Input input_of(const at::Tensor& x_RI, const ByteKernels& kernels, const Panels& weight) {
    const std::int64_t rows = x_RI.size(0);
    Input made;
    made.stride = weight.columns * kernels.number_bytes;
    made.numbers = at::empty({rows, made.stride}, x_RI.options().dtype(at::kByte));
    made.scales.resize(static_cast<std::size_t>(rows));
    if (weight.offsets.defined())
        made.sums = at::empty({rows, weight.groups}, x_RI.options().dtype(at::kFloat));
    const auto* const x = x_RI.const_data_ptr<float>();
    auto* const numbers = made.numbers.mutable_data_ptr<std::uint8_t>();
    float* const sums = made.sums.defined() ? made.sums.mutable_data_ptr<float>() : nullptr;
    const std::int64_t grain =
        std::max<std::int64_t>(work_of_a_thread / std::max<std::int64_t>(weight.in, 1), 1);
    at::parallel_for(0, rows, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t r = first; r < last; ++r) {
            const float scale = scale_of(x + r * weight.in, weight);
            std::uint8_t* const to = numbers + r * made.stride;
            convert(x + r * weight.in, kernels, weight, scale, to);
            made.scales[static_cast<std::size_t>(r)] = scale;
            if (sums == nullptr) continue;
            if (kernels.number_bytes == 2)
                sum_groups(reinterpret_cast<const std::int16_t*>(to), 0, weight, sums + r * weight.groups);
            else
                sum_groups(to, kernels.added, weight, sums + r * weight.groups);
        }
    });
    return made;
}

// y of some rows and panels, which holds the bias, gets the product added. `stride`: floats of a row of y.
void add_tile(const Input& input, const ByteKernels& kernels, const Panels& weight, std::int64_t row,
              std::int64_t rows, std::int64_t panel, std::int64_t panels, float* y, std::int64_t stride) {
    std::int32_t sums[most_tile_panels * most_tile_rows * panel_outputs];
    const auto& floats = row_kernels();
    const auto* const x = input.numbers.const_data_ptr<std::uint8_t>() + row * input.stride;
    for (std::int64_t g = 0; g < weight.groups; ++g) {
        const std::int64_t first = g * weight.group, last = std::min(first + weight.group, weight.columns);
        kernels.tile({x + first * kernels.number_bytes, input.stride, rows,
                      weight.panel(panel) + first * panel_outputs, weight.panel_bytes(), panels, last - first,
                      sums});
        const float* const factors = input.scales.data() + row;
        for (std::int64_t p = 0; p < panels; ++p) {
            float* const to = y + p * panel_outputs;
            floats.add_scaled({sums + p * rows * panel_outputs, rows, weight.sums_of(panel + p, g),
                               kernels.added, weight.scales_of(panel + p, g), factors, to, stride});
            const float* const offsets = weight.offsets_of(panel + p, g);
            if (offsets == nullptr) continue;
            const float* const x_sums = input.sums.const_data_ptr<float>() + row * weight.groups + g;
            for (std::int64_t r = 0; r < rows; ++r) {
                const float sum = factors[r] * x_sums[r * weight.groups];
                for (std::int64_t o = 0; o < panel_outputs; ++o) to[r * stride + o] -= offsets[o] * sum;
            }
        }
    }
}

void fill_rows(float* y, std::int64_t stride, std::int64_t rows, const float* bias, std::int64_t count) {
    for (std::int64_t r = 0; r < rows; ++r) {
        if (bias == nullptr)
            std::fill_n(y + r * stride, count, 0.0F);
        else
            std::copy_n(bias, count, y + r * stride);
    }
}

}  // namespace

at::Tensor byte_product(const at::Tensor& x_RI, const Panels& weight, const at::Tensor& bias_O) {
    const at::Tensor x = x_RI.to(at::kFloat).contiguous();
    const std::int64_t rows = x.size(0), out = weight.out;
    at::Tensor y_RO = at::empty({rows, out}, x.options());
    if (rows == 0 || out == 0) return y_RO.to(x_RI.scalar_type());
    const at::Tensor bias = bias_O.defined() ? bias_O.to(at::kFloat).contiguous() : bias_O;
    const float* const added = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
    const ByteKernels& kernels = byte_kernels();
    const Input input = input_of(x, kernels, weight);
    float* const y = y_RO.mutable_data_ptr<float>();
    const std::int64_t blocks = (rows + rows_of_a_block - 1) / rows_of_a_block;
    const std::int64_t strips = (weight.panels() + kernels.tile_panels - 1) / kernels.tile_panels;
    const std::int64_t work = weight.panel_bytes() * kernels.tile_panels * std::min(rows, rows_of_a_block);
    at::parallel_for(
        0, blocks * strips, std::max<std::int64_t>(work_of_a_thread / std::max<std::int64_t>(work, 1), 1),
        [&](std::int64_t begin, std::int64_t end) {
            float aside[most_tile_rows * most_tile_panels * panel_outputs];  // of the last outputs
            for (std::int64_t unit = begin; unit < end; ++unit) {
                const std::int64_t panel = unit % strips * kernels.tile_panels;
                const std::int64_t panels = std::min(kernels.tile_panels, weight.panels() - panel);
                const std::int64_t output = panel * panel_outputs, wide = panels * panel_outputs,
                                   some = std::min(wide, out - output);
                const float* const its_bias = added == nullptr ? nullptr : added + output;
                const std::int64_t first = unit / strips * rows_of_a_block,
                                   last = std::min(first + rows_of_a_block, rows);
                for (std::int64_t row = first; row < last; row += kernels.tile_rows) {
                    const std::int64_t together = std::min(kernels.tile_rows, last - row);
                    float* const place = y + row * out + output;
                    float* const to = some == wide ? place : aside;
                    const std::int64_t stride = some == wide ? out : wide;
                    fill_rows(to, stride, together, its_bias, some);
                    add_tile(input, kernels, weight, row, together, panel, panels, to, stride);
                    if (to == aside)
                        for (std::int64_t r = 0; r < together; ++r)
                            std::copy_n(aside + r * wide, some, place + r * out);
                }
            }
        });
    return y_RO.to(x_RI.scalar_type());
}

}  // namespace switchyard::int8
