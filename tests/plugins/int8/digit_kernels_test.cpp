// Digits of fixed-point numbers, and their products with a panel: each against its definition, written out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "digit_kernels.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr std::int64_t panel_width = 16;

// The column that stands at a place: in fours, or the even and then the odd ones of each eight.
std::int64_t column_at(std::int64_t place, bool halves) {
    return halves ? place / 8 * 8 + place % 4 * 2 + place / 4 % 2 : place;
}

struct DigitProblem {
    bool halves;
    std::int64_t rows, columns, group, groups;
    std::vector<std::int32_t> weight;       // [16, columns]
    std::vector<float> x, scales, offsets;  // [rows, columns], [groups, 16], [groups, 16]
};

DigitProblem digit_problem(bool halves, std::int64_t rows, std::int64_t columns, std::int64_t group) {
    std::mt19937 random(11);
    std::uniform_int_distribution<std::int32_t> whole(halves ? -8 : -128, halves ? 7 : 127);
    std::uniform_int_distribution<std::int32_t> fixed(-8'000'000, 8'000'000);
    std::uniform_real_distribution<float> scale(0.5F, 2.0F);
    DigitProblem made{halves, rows, columns, group, (columns + group - 1) / group, {}, {}, {}, {}};
    for (std::int64_t i = 0; i < panel_width * columns; ++i) made.weight.push_back(whole(random));
    for (std::int64_t i = 0; i < rows * columns; ++i) made.x.push_back(static_cast<float>(fixed(random)));
    made.x[0] = 8'355'711.0F;  // the largest that three digits hold
    for (std::int64_t i = 0; i < made.groups * panel_width; ++i) {
        made.scales.push_back(scale(random));
        made.offsets.push_back(scale(random));
    }
    return made;
}

std::vector<std::int8_t> panel_of(const DigitProblem& p) {
    std::vector<std::int8_t> panel(static_cast<std::size_t>(panel_width * p.columns / (p.halves ? 2 : 1)));
    for (std::int64_t o = 0; o < panel_width; ++o) {
        for (std::int64_t k = 0; k < p.columns; ++k) {
            const auto value = p.weight[static_cast<std::size_t>(o * p.columns + k)];
            if (!p.halves) {
                panel[static_cast<std::size_t>(k * panel_width + o)] = static_cast<std::int8_t>(value);
                continue;
            }
            auto& byte = panel[static_cast<std::size_t>((k / 8 * panel_width + o) * 4 + k % 8 / 2)];
            byte = static_cast<std::int8_t>(byte | (value & 15) << (k % 2 * 4));
        }
    }
    return panel;
}

std::vector<float> product_of(const DigitProblem& p, const int8::DigitKernels& kernels, bool offsets) {
    const auto panel = panel_of(p);
    std::vector<std::int32_t> digits(static_cast<std::size_t>(p.rows * p.columns)), sums;
    std::vector<float> block_scales, x_sums(static_cast<std::size_t>(p.groups * p.rows), 0.0F);
    for (std::int64_t g = 0; g < p.groups; ++g) {
        const std::int64_t last = std::min((g + 1) * p.group, p.columns);
        for (std::int64_t k = g * p.group; k < last; k += int8::digit_block) {
            const std::int64_t count = std::min(int8::digit_block, last - k);
            for (std::int64_t r = 0; r < p.rows; ++r) {
                const float* const x = p.x.data() + r * p.columns + k;
                int8::DigitsOf block{x,          count,    count,
                                     1.0F,       p.halves, digits.data() + (k / 4 * p.rows + r) * 4,
                                     4 * p.rows, {}};
                kernels.split(block);
                block_scales.push_back(1.0F);
                for (const auto sum : block.sums) sums.push_back(-int8::added_to_weights(p.halves) * sum);
                for (std::int64_t i = 0; i < count; ++i)
                    x_sums[static_cast<std::size_t>(g * p.rows + r)] += x[i];
            }
        }
    }
    std::vector<float> y(static_cast<std::size_t>(p.rows * panel_width), -1.0F);
    const auto kernel = p.halves ? kernels.halves : kernels.bytes;
    kernel({digits.data(), p.rows, p.columns, p.group, p.groups, sums.data(), block_scales.data(),
            x_sums.data(), panel.data(), p.scales.data(), offsets ? p.offsets.data() : nullptr, y.data()});
    return y;
}

double meant(const DigitProblem& p, bool offsets, std::int64_t row, std::int64_t output, double& size) {
    double sum = 0.0;
    for (std::int64_t k = 0; k < p.columns; ++k) {
        const auto fact = static_cast<std::size_t>(k / p.group * panel_width + output);
        const double weight =
            static_cast<double>(p.weight[static_cast<std::size_t>(output * p.columns + k)]) *
                static_cast<double>(p.scales[fact]) -
            (offsets ? static_cast<double>(p.offsets[fact]) : 0.0);
        const double term = weight * static_cast<double>(p.x[static_cast<std::size_t>(row * p.columns + k)]);
        sum += term;
        size += std::abs(term);
    }
    return sum;
}

}  // namespace

TEST_CASE("a block is split into digits that make its fixed-point numbers again") {
    const auto* const kernels = int8::digit_kernels();
    if (kernels == nullptr) return;
    for (const bool halves : {false, true}) {
        for (const std::int64_t count : {1, 7, 8, 16, 23, 120, 256}) {
            INFO(count << (halves ? " columns of halves" : " columns of bytes"));
            const std::int64_t columns = (count + 7) / 8 * 8;
            auto p = digit_problem(halves, 1, columns, columns);
            for (std::int64_t i = 1; i < count; ++i)
                p.x[static_cast<std::size_t>(i)] += 0.25F;  // rounded off
            std::vector<std::int32_t> digits(static_cast<std::size_t>(columns));
            int8::DigitsOf block{p.x.data(), count, columns, 1.0F, halves, digits.data(), 4, {}};
            kernels->split(block);
            std::int64_t sums[int8::digit_count] = {};
            for (std::int64_t place = 0; place < columns; ++place) {
                const std::int64_t column = column_at(place, halves);
                const auto* const bytes = reinterpret_cast<const std::int8_t*>(digits.data());
                std::int64_t number = 0;
                for (std::int64_t digit = int8::digit_count; digit-- > 0;) {
                    const std::int64_t one = bytes[place / 4 * 16 + digit * 4 + place % 4];
                    number = number * 256 + one;
                    sums[digit] += one;
                }
                CHECK(number == (column < count ? std::lrintf(p.x[static_cast<std::size_t>(column)]) : 0));
            }
            for (std::int64_t digit = 0; digit < int8::digit_count; ++digit)
                CHECK(block.sums[digit] == sums[digit]);
        }
    }
}

TEST_CASE("products of digits with a panel are those of the numbers, within float32's rounding of the sums") {
    const auto* const kernels = int8::digit_kernels();
    if (kernels == nullptr) return;
    for (const bool halves : {false, true}) {
        for (std::int64_t rows = 1; rows <= int8::most_digit_rows; ++rows) {
            for (const std::int64_t columns : {8, 12, 20, 24, 64, 136, 1096}) {
                if (halves && columns % 8 != 0) continue;
                for (const std::int64_t group :
                     {std::int64_t{16}, std::int64_t{64}, std::int64_t{400}, columns}) {
                    for (const bool offsets : {false, true}) {
                        INFO(rows << " rows, " << columns << " columns, groups of " << group
                                  << (halves ? ", halves" : ", bytes") << (offsets ? ", offsets" : ""));
                        const auto p = digit_problem(halves, rows, columns, std::min(group, columns));
                        const auto y = product_of(p, *kernels, offsets);
                        double worst = 0.0;
                        for (std::int64_t r = 0; r < rows; ++r) {
                            for (std::int64_t o = 0; o < panel_width; ++o) {
                                double size = 0.0;
                                const double truth = meant(p, offsets, r, o, size);
                                const double found = y[static_cast<std::size_t>(r * panel_width + o)];
                                worst = std::max(worst, std::abs(found - truth) / size);
                            }
                        }
                        CHECK(worst < 1e-6);
                    }
                }
            }
        }
    }
}
