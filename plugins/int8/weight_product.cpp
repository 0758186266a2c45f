#include "weight_product.h"

#include <algorithm>
#include <array>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <switchyard/sdk/cpu/dealt_parts.h>
#include <switchyard/sdk/cpu/tile_product.h>

#include "digit_product.h"
#include "row_kernels.h"

namespace switchyard::int8 {
namespace {

constexpr std::int64_t most_streamed_rows = 16;
// Outputs that are decoded together: the product with them must be some work for all threads.
constexpr std::int64_t decoded_panels = 48;

float sum_of(const float* x, std::int64_t count) {
    constexpr std::int64_t lanes = 8;
    std::array<float, lanes> partial{};
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            partial[static_cast<std::size_t>(lane)] += x[i + lane];
    double sum = 0.0;
    for (const float one : partial) sum += one;
    for (; i < count; ++i) sum += x[i];
    return static_cast<float>(sum);
}

// [R, groups] of x [R, in]: with them a zero point costs one product for a group.
std::vector<float> sums_of_input(const float* x, std::int64_t rows, const Panels& weight) {
    std::vector<float> sums(static_cast<std::size_t>(rows * weight.groups));
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t g = 0; g < weight.groups; ++g) {
            const std::int64_t first = g * weight.group, count = std::min(weight.group, weight.in - first);
            sums[static_cast<std::size_t>(row * weight.groups + g)] =
                sum_of(x + row * weight.in + first, count);
        }
    }
    return sums;
}

void streamed_product(const at::Tensor& x_RI, const Panels& weight, const float* bias, float* y) {
    const std::int64_t rest = weight.columns - weight.in;
    const at::Tensor filled = rest == 0 ? x_RI : at::constant_pad_nd(x_RI, {0, rest});
    const float* const x = filled.const_data_ptr<float>();
    const bool offset = weight.offsets.defined();
    const auto sums =
        offset ? sums_of_input(x_RI.const_data_ptr<float>(), x_RI.size(0), weight) : std::vector<float>();
    const PanelPlaces places = weight.places();
    const std::int64_t rows = x_RI.size(0);
    const auto kernel = weight.halves ? row_kernels().halves : row_kernels().bytes;
    over_dealt_parts(weight.panels(), weight.panels_of_a_part(), [&](std::int64_t begin, std::int64_t end) {
        float sum[most_float_rows * panel_outputs];
        for (std::int64_t panel = begin; panel < end; ++panel) {
            for (std::int64_t row = 0; row < rows; row += most_float_rows) {
                const std::int64_t together = std::min(most_float_rows, rows - row);
                kernel({x + row * weight.columns, together, weight.columns, weight.group, weight.groups,
                        offset ? sums.data() + row * weight.groups : nullptr, places.panel(panel),
                        places.scales_of(panel), places.offsets_of(panel), sum});
                store_panel(weight, panel, sum, together, bias, y + row * weight.out);
            }
        }
    });
}

// The outputs of some panels, float32 [columns, outputs].
at::Tensor decoded(const Panels& weight, std::int64_t first, std::int64_t last) {
    const std::int64_t outputs = (last - first) * panel_outputs;
    at::Tensor made = at::empty({weight.columns, outputs}, at::TensorOptions(at::kFloat));
    float* const values = made.mutable_data_ptr<float>();
    const auto decode = weight.halves ? row_kernels().decode_halves : row_kernels().decode_bytes;
    at::parallel_for(first, last, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t panel = begin; panel < end; ++panel) {
            for (std::int64_t g = 0; g < weight.groups; ++g) {
                const std::int64_t k = g * weight.group, n = std::min(weight.group, weight.columns - k);
                decode(weight.panel(panel) + k * panel_outputs / (weight.halves ? 2 : 1), n,
                       weight.scales_of(panel, g), weight.offsets_of(panel, g),
                       values + k * outputs + (panel - first) * panel_outputs, outputs);
            }
        }
    });
    return made;
}

// Some outputs of y = x part + bias.
void multiply(const at::Tensor& x_RI, const at::Tensor& part_IO, const at::Tensor& bias_O, at::Tensor y_RO) {
    const std::int64_t rows = x_RI.size(0), in = x_RI.size(1), outputs = y_RO.size(1);
    if (x_RI.scalar_type() == at::kFloat && tiles::pays(at::kFloat, rows, in, outputs)) {
        tiles::multiply<float>(tile_functions(), {x_RI.const_data_ptr<float>(), rows, in, in},
                               {part_IO.const_data_ptr<float>(), in, outputs, part_IO.stride(0)}, false,
                               {y_RO.mutable_data_ptr<float>(), rows, outputs, y_RO.stride(0)},
                               bias_O.defined() ? bias_O.const_data_ptr<float>() : nullptr);
        return;
    }
    const at::Tensor part = part_IO.narrow(0, 0, in).narrow(1, 0, outputs).to(x_RI.scalar_type());
    y_RO.copy_(bias_O.defined() ? at::addmm(bias_O, x_RI, part) : at::mm(x_RI, part));
}

at::Tensor decoded_product(const at::Tensor& x_RI, const Panels& weight, const at::Tensor& bias_O) {
    const bool low = x_RI.scalar_type() == at::kBFloat16 && tiles::multiplies_bfloat16();
    const auto type = low ? at::kBFloat16 : at::kFloat;
    const at::Tensor x = x_RI.to(type).contiguous();
    const at::Tensor bias = bias_O.defined() ? bias_O.to(type).contiguous() : bias_O;
    at::Tensor y_RO = at::empty({x.size(0), weight.out}, x.options());
    const std::int64_t panels = weight.panels();
    for (std::int64_t first = 0; first < panels; first += decoded_panels) {
        const std::int64_t last = std::min(first + decoded_panels, panels), output = first * panel_outputs;
        const std::int64_t some = std::min(last * panel_outputs, weight.out) - output;
        multiply(x, decoded(weight, first, last), bias.defined() ? bias.narrow(0, output, some) : bias,
                 y_RO.narrow(1, output, some));
    }
    return y_RO;
}

}  // namespace

at::Tensor weight_product(const at::Tensor& x_RI, const Panels& weight, const at::Tensor& bias_O,
                          const char*& variant) {
    const std::int64_t rows = x_RI.size(0);
    variant = "stream";
    if (rows > most_streamed_rows) {
        variant = "decoded";
        return decoded_product(x_RI, weight, bias_O).to(x_RI.scalar_type());
    }
    const at::Tensor x = x_RI.to(at::kFloat).contiguous();
    const at::Tensor bias = bias_O.defined() ? bias_O.to(at::kFloat).contiguous() : bias_O;
    at::Tensor y_RO = at::empty({rows, weight.out}, x.options());
    float* const y = y_RO.mutable_data_ptr<float>();
    const float* const added = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
    if (y_RO.numel() > 0) variant = digit_product(x.const_data_ptr<float>(), rows, weight, added, y);
    if (variant == nullptr) {
        variant = "stream";
        streamed_product(x, weight, added, y);
    }
    return y_RO.to(x_RI.scalar_type());
}

}  // namespace switchyard::int8
