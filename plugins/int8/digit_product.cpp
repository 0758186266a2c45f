#include "digit_product.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <switchyard/sdk/cpu/dealt_parts.h>

#include "digit_kernels.h"

namespace switchyard::int8 {
namespace {

std::int64_t blocks_of(const Panels& weight) {
    std::int64_t blocks = 0;
    for (std::int64_t g = 0; g < weight.groups; ++g) {
        const std::int64_t columns = std::min(weight.group, weight.columns - g * weight.group);
        blocks += (columns + digit_block - 1) / digit_block;
    }
    return blocks;
}

template <class T>
std::unique_ptr<T[]> room_for(std::int64_t count) {
    return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
}

// Rows of x that stand side by side, as the kernels read them.
struct SplitRows {
    SplitRows(std::int64_t rows, const Panels& weight)
        : count(rows),
          digits(room_for<std::int32_t>(rows * weight.columns)),
          sums(room_for<std::int32_t>(rows * blocks_of(weight) * digit_count)),
          block_scales(room_for<float>(rows * blocks_of(weight))),
          x_sums(room_for<float>(rows * weight.groups)) {}

    std::int64_t count;
    std::unique_ptr<std::int32_t[]> digits, sums;
    std::unique_ptr<float[]> block_scales, x_sums;
};

bool split_rows(const float* x, const Panels& weight, const DigitKernels& kernels, SplitRows& to) {
    for (std::int64_t row = 0; row < to.count; ++row) {
        if (!kernels.split({x + row * weight.in, weight.in, weight.columns, weight.group, row, to.count,
                            weight.halves, to.digits.get(), to.sums.get(), to.block_scales.get(),
                            to.x_sums.get()}))
            return false;
    }
    return true;
}

}  // namespace

const char* digit_product(const float* x, std::int64_t rows, const Panels& weight, const float* bias,
                          float* y) {
    const DigitKernels* const kernels = digit_kernels();
    if (kernels == nullptr) return nullptr;
    std::vector<SplitRows> together;
    for (std::int64_t row = 0; row < rows; row += most_digit_rows) {
        together.emplace_back(std::min(most_digit_rows, rows - row), weight);
        if (!split_rows(x + row * weight.in, weight, *kernels, together.back())) return nullptr;
    }
    const auto kernel = weight.halves ? kernels->halves : kernels->bytes;
    const PanelPlaces places = weight.places();
    // Of a panel, and of another so many behind it.
    const auto multiply = [&](const SplitRows& part, std::int64_t panel, std::int64_t between, float* sum) {
        kernel({part.digits.get(), part.count, weight.columns, weight.group, weight.groups, part.sums.get(),
                part.block_scales.get(), part.x_sums.get(), places.panel(panel), places.scales_of(panel),
                places.offsets_of(panel), sum, between * places.bytes, between * places.factors});
    };
    over_dealt_parts(weight.panels(), weight.panels_of_a_part(), [&](std::int64_t begin, std::int64_t end) {
        float sum[most_digit_rows * panel_outputs];
        const std::int64_t half = rows == 1 ? (end - begin) / 2 : 0;
        for (std::int64_t panel = begin; panel < begin + half; ++panel) {
            multiply(together.front(), panel, half, sum);
            store_panel(weight, panel, sum, 1, bias, y);
            store_panel(weight, panel + half, sum + panel_outputs, 1, bias, y);
        }
        for (std::int64_t panel = begin + 2 * half; panel < end; ++panel) {
            float* to = y;
            for (const SplitRows& part : together) {
                multiply(part, panel, 0, sum);
                store_panel(weight, panel, sum, part.count, bias, to);
                to += part.count * weight.out;
            }
        }
    });
    return kernels->name;
}

}  // namespace switchyard::int8
