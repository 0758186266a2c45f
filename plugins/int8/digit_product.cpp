#include "digit_product.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Parallel.h>

#include "digit_kernels.h"
#include "row_kernels.h"

namespace switchyard::int8 {
namespace {

// Rows of x that stand side by side, as the kernels read them.
struct SplitRows {
    std::int64_t count = 0;
    std::vector<std::int32_t> digits;  // [columns / 4][rows][4]
    std::vector<std::int32_t> sums;    // [blocks][rows][3]
    std::vector<float> block_scales;   // [blocks][rows]
    std::vector<float> x_sums;         // [groups][rows]
};

// How many powers of 2 a block is multiplied by, so that its largest magnitude has as many bits as three
// digits hold.
int exponent_for(float largest) {
    constexpr float most = 127.0F * 65536.0F + 127.0F * 256.0F + 127.0F;
    if (largest == 0.0F) return 0;
    int exponent = 0;
    const float fraction = std::frexp(largest, &exponent);  // 0.5 to 1
    const int bits = std::ldexp(fraction, 23) <= most ? 23 : 22;
    return bits - exponent;
}

constexpr int largest_exponent = 126;  // of a power of 2 whose inverse float32 has in full

// False: a number is not finite, or all of a block are too small.
bool split_row(const float* x, const Panels& weight, const DigitKernels& kernels, std::int64_t row,
               SplitRows& to) {
    std::int64_t block = 0;
    for (std::int64_t g = 0; g < weight.groups; ++g) {
        const std::int64_t last = std::min((g + 1) * weight.group, weight.columns);
        float group_sum = 0.0F;
        for (std::int64_t k = g * weight.group; k < last; k += digit_block, ++block) {
            const std::int64_t columns = std::min(digit_block, last - k);
            const std::int64_t count = std::clamp<std::int64_t>(weight.in - k, 0, columns);
            const float largest = row_kernels().largest(x + k, count);
            if (!std::isfinite(largest)) return false;
            const int exponent = exponent_for(largest);
            if (exponent > largest_exponent) return false;
            DigitsOf split{x + k,         count,
                           columns,       std::ldexp(1.0F, exponent),
                           weight.halves, to.digits.data() + (k / 4 * to.count + row) * 4,
                           4 * to.count,  {}};
            kernels.split(split);
            const auto at = static_cast<std::size_t>(block * to.count + row);
            to.block_scales[at] = std::ldexp(1.0F, -exponent);
            float sum = 0.0F;
            for (std::int64_t digit = digit_count; digit-- > 0;) {
                sum = sum * 256.0F + static_cast<float>(split.sums[digit]);
                to.sums[at * digit_count + static_cast<std::size_t>(digit)] =
                    -added_to_weights(weight.halves) * split.sums[digit];
            }
            group_sum += sum * to.block_scales[at];
        }
        to.x_sums[static_cast<std::size_t>(g * to.count + row)] = group_sum;
    }
    return true;
}

std::int64_t blocks_of(const Panels& weight) {
    std::int64_t blocks = 0;
    for (std::int64_t g = 0; g < weight.groups; ++g) {
        const std::int64_t columns = std::min(weight.group, weight.columns - g * weight.group);
        blocks += (columns + digit_block - 1) / digit_block;
    }
    return blocks;
}

bool split_rows(const float* x, const Panels& weight, const DigitKernels& kernels, SplitRows& to) {
    const auto sized = [&](std::int64_t count) { return static_cast<std::size_t>(count * to.count); };
    const std::int64_t blocks = blocks_of(weight);
    to.digits.resize(sized(weight.columns));
    to.sums.resize(sized(blocks * digit_count));
    to.block_scales.resize(sized(blocks));
    to.x_sums.resize(sized(weight.groups));
    for (std::int64_t row = 0; row < to.count; ++row) {
        if (!split_row(x + row * weight.in, weight, kernels, row, to)) return false;
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
        together.emplace_back().count = std::min(most_digit_rows, rows - row);
        if (!split_rows(x + row * weight.in, weight, *kernels, together.back())) return nullptr;
    }
    const auto kernel = weight.halves ? kernels->halves : kernels->bytes;
    at::parallel_for(0, weight.panels(), weight.panels_of_a_thread(),
                     [&](std::int64_t begin, std::int64_t end) {
                         float sum[most_digit_rows * panel_outputs];
                         for (std::int64_t panel = begin; panel < end; ++panel) {
                             float* to = y;
                             for (const SplitRows& part : together) {
                                 kernel({part.digits.data(), part.count, weight.columns, weight.group,
                                         weight.groups, part.sums.data(), part.block_scales.data(),
                                         part.x_sums.data(), weight.panel(panel), weight.scales_of(panel, 0),
                                         weight.offsets_of(panel, 0), sum});
                                 store_panel(weight, panel, sum, part.count, bias, to);
                                 to += part.count * weight.out;
                             }
                         }
                     });
    return kernels->name;
}

}  // namespace switchyard::int8
