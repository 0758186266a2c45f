// Weights in the order that the kernels here read them in: panels of 16 outputs, in each of which the columns
// follow each other, so that one sweep over memory serves one row of x as well as many.
//
//   bytes    [panels][columns / step][16][step]   int8; `step` columns of an output side by side, as the
//            processor's integer products take them (byte_kernels.h)
//   halves   [panels][columns / 8][16]            int32; eight columns of an output, 4 bits each in two's
//            complement, the first one's in the lowest bits
//
// A group's columns are filled up with zeros to a multiple of 4, of halves to one of 8; only the last group,
// or the whole row where that is one, is ever not one already. Outputs are filled up to 16 with zeros.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/linear.h>

namespace switchyard::int8 {

inline constexpr std::int64_t panel_outputs = 16;

// Where a panel's parts lie, without asking tensors for each.
struct PanelPlaces {
    const std::int8_t* values;
    const float* scales;
    const float* offsets;         // nullptr: there are none
    std::int64_t bytes, factors;  // of a panel

    const std::int8_t* panel(std::int64_t p) const { return values + p * bytes; }
    const float* scales_of(std::int64_t p) const { return scales + p * factors; }
    const float* offsets_of(std::int64_t p) const {
        return offsets == nullptr ? nullptr : offsets + p * factors;
    }
};

struct Panels {
    std::int64_t out = 0, in = 0;
    std::int64_t columns = 0;  // of all groups, filled up
    std::int64_t group = 0;    // columns of a group, as filled up
    std::int64_t groups = 0;
    std::int64_t step = 1;   // of bytes
    bool halves = false;     // 4 bits
    at::Tensor values;       // int8 or int32
    at::Tensor scales;       // float32 [panels, groups, 16]
    at::Tensor offsets;      // float32 [panels, groups, 16]: scale * zero point; undefined: none
    at::Tensor sums;         // int32 [panels, groups, 16]: of a group's values; undefined unless asked for
    at::Tensor input_scale;  // float32 []; undefined unless the weight has one

    std::int64_t panels() const { return (out + panel_outputs - 1) / panel_outputs; }
    std::int64_t panel_bytes() const { return columns * panel_outputs / (halves ? 2 : 1); }
    // So many that they are worth a part of their own: of a weight that is read for few rows.
    std::int64_t panels_of_a_part() const;
    std::int64_t bytes() const;
    PanelPlaces places() const {
        return {panel(0), scales_of(0, 0), offsets_of(0, 0), panel_bytes(), groups * panel_outputs};
    }
    const std::int8_t* panel(std::int64_t p) const {
        return static_cast<const std::int8_t*>(values.const_data_ptr()) + p * panel_bytes();
    }
    // Of a panel's group, 16 of them.
    const float* scales_of(std::int64_t p, std::int64_t g) const {
        return scales.const_data_ptr<float>() + (p * groups + g) * panel_outputs;
    }
    const float* offsets_of(std::int64_t p, std::int64_t g) const {
        return offsets.defined() ? offsets.const_data_ptr<float>() + (p * groups + g) * panel_outputs
                                 : nullptr;
    }
    const std::int32_t* sums_of(std::int64_t p, std::int64_t g) const {
        return sums.const_data_ptr<std::int32_t>() + (p * groups + g) * panel_outputs;
    }
};

// As bytes, with their sums, also of a weight in 4 bits.
Panels byte_panels(const QuantizedWeight& weight, std::int64_t step);
// For weight_product.h: halves of a weight in 4 bits, else bytes with a step of 1.
Panels weight_panels(const QuantizedWeight& weight);

// Some rows of y [rows, out] at a panel's outputs = sums [rows, 16] + bias, which may be nullptr.
void store_panel(const Panels& weight, std::int64_t panel, const float* sums, std::int64_t rows,
                 const float* bias, float* y);

}  // namespace switchyard::int8
