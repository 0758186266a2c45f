// Digits of fixed-point numbers, and their products with a panel: each against its definition, written out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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

// What is made of all rows, as the products take it.
struct SplitProblem {
    std::vector<std::int32_t> digits, sums;
    std::vector<float> block_scales, x_sums;
};

SplitProblem split_problem(const DigitProblem& p, const int8::DigitKernels& kernels) {
    std::int64_t blocks = 0;
    for (std::int64_t g = 0; g < p.groups; ++g)
        blocks += (std::min(p.group, p.columns - g * p.group) + int8::digit_block - 1) / int8::digit_block;
    const auto sized = [&](std::int64_t count) { return static_cast<std::size_t>(count * p.rows); };
    SplitProblem made;
    made.digits.resize(sized(p.columns));
    made.sums.resize(sized(blocks * int8::digit_count));
    made.block_scales.resize(sized(blocks));
    made.x_sums.resize(sized(p.groups));
    const auto in = static_cast<std::int64_t>(p.x.size()) / p.rows;
    for (std::int64_t r = 0; r < p.rows; ++r)
        CHECK(kernels.split({p.x.data() + r * in, in, p.columns, p.group, r, p.rows, p.halves,
                             made.digits.data(), made.sums.data(), made.block_scales.data(),
                             made.x_sums.data()}));
    return made;
}

std::vector<float> product_of(const DigitProblem& p, const int8::DigitKernels& kernels, bool offsets) {
    const auto panel = panel_of(p);
    const auto x = split_problem(p, kernels);
    std::vector<float> y(static_cast<std::size_t>(p.rows * panel_width), -1.0F);
    const auto kernel = p.halves ? kernels.halves : kernels.bytes;
    kernel({x.digits.data(), p.rows, p.columns, p.group, p.groups, x.sums.data(), x.block_scales.data(),
            x.x_sums.data(), panel.data(), p.scales.data(), offsets ? p.offsets.data() : nullptr, y.data()});
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

TEST_CASE("a row is split into digits that make its fixed-point numbers again") {
    const auto* const kernels = int8::digit_kernels();
    if (kernels == nullptr) return;
    for (const bool halves : {false, true}) {
        for (const std::int64_t rows : {1, 3}) {
            for (const std::int64_t count : {1, 7, 8, 16, 23, 120, 256, 600}) {
                INFO(rows << " rows of " << count << (halves ? " columns of halves" : " columns of bytes"));
                const std::int64_t multiple = halves ? 8 : 4;
                const std::int64_t columns = (count + multiple - 1) / multiple * multiple;
                auto p = digit_problem(halves, rows, columns, std::min<std::int64_t>(columns, 272));
                p.x.assign(static_cast<std::size_t>(rows * count), 0.0F);
                std::mt19937 random(5);
                std::uniform_int_distribution<std::int32_t> eighths(-64'000'000, 64'000'000);
                for (float& x : p.x) x = static_cast<float>(eighths(random)) / 8.0F;
                p.x[0] = 8'355'711.0F;  // the largest that three digits hold
                const auto made = split_problem(p, *kernels);
                const auto* const bytes = reinterpret_cast<const std::int8_t*>(made.digits.data());
                std::size_t block = 0;
                for (std::int64_t g = 0; g < p.groups; ++g) {
                    const std::int64_t last = std::min((g + 1) * p.group, columns);
                    for (std::int64_t k = g * p.group; k < last; k += int8::digit_block, ++block) {
                        for (std::int64_t r = 0; r < rows; ++r) {
                            const auto at =
                                block * static_cast<std::size_t>(rows) + static_cast<std::size_t>(r);
                            const double unit = static_cast<double>(made.block_scales[at]);
                            std::int64_t sums[int8::digit_count] = {};
                            double most = 0.0;
                            for (std::int64_t i = k; i < std::min(k + int8::digit_block, last); ++i) {
                                const std::int64_t column = column_at(i, halves);
                                std::int64_t number = 0;
                                for (std::int64_t digit = int8::digit_count; digit-- > 0;) {
                                    const auto byte = ((i / 4 * rows + r) * 4 + digit) * 4 + i % 4;
                                    number = number * 256 + bytes[byte];
                                    sums[digit] += bytes[byte];
                                }
                                const double x = column < count
                                                     ? static_cast<double>(
                                                           p.x[static_cast<std::size_t>(r * count + column)])
                                                     : 0.0;
                                most = std::max(most, std::abs(x));
                                CHECK(number == std::lrint(x / unit));
                            }
                            // As large a power of 2 as three digits allow: 2^22 at least is what is largest.
                            CHECK((most == 0.0 || most / unit >= 4'177'855.0));
                            for (std::int64_t digit = 0; digit < int8::digit_count; ++digit)
                                CHECK(made.sums[at * int8::digit_count + static_cast<std::size_t>(digit)] ==
                                      -int8::added_to_weights(halves) * sums[digit]);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("a row of what no fixed-point number means, or of what is too small, is not split") {
    const auto* const kernels = int8::digit_kernels();
    if (kernels == nullptr) return;
    constexpr std::int64_t columns = 48;
    const auto splits = [&](float last) {
        std::vector<float> x(columns, 0.0F);
        x.back() = last;
        std::vector<std::int32_t> digits(columns), sums(3 * int8::digit_count);
        std::vector<float> block_scales(3), x_sums(3);
        return kernels->split({x.data(), columns, columns, 16, 0, 1, false, digits.data(), sums.data(),
                               block_scales.data(), x_sums.data()});
    };
    CHECK(splits(0.0F));
    CHECK(splits(std::ldexp(1.0F, -104)));
    CHECK(splits(std::numeric_limits<float>::max()));
    CHECK_FALSE(splits(std::ldexp(1.0F, -105)));
    CHECK_FALSE(splits(std::numeric_limits<float>::denorm_min()));
    CHECK_FALSE(splits(std::numeric_limits<float>::infinity()));
    CHECK_FALSE(splits(-std::numeric_limits<float>::infinity()));
    CHECK_FALSE(splits(std::numeric_limits<float>::quiet_NaN()));
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

TEST_CASE("two panels at once are each what they are alone, to the bit") {
    const auto* const kernels = int8::digit_kernels();
    if (kernels == nullptr) return;
    for (const bool halves : {false, true}) {
        for (const std::int64_t columns : {8, 24, 64, 136, 1096}) {
            for (const bool offsets : {false, true}) {
                INFO(columns << " columns" << (halves ? ", halves" : ", bytes")
                             << (offsets ? ", offsets" : ""));
                const auto p = digit_problem(halves, 1, columns, std::min<std::int64_t>(columns, 48));
                auto other = p;
                for (auto& value : other.weight) value = halves ? -1 - value : -value % 128;
                for (auto& scale : other.scales) scale *= 1.5F;
                auto panels = panel_of(p);
                const auto second = panel_of(other);
                const auto bytes = static_cast<std::int64_t>(panels.size());
                panels.insert(panels.end(), second.begin(), second.end());
                const auto both = [](std::vector<float> first, const std::vector<float>& then) {
                    first.insert(first.end(), then.begin(), then.end());
                    return first;
                };
                const auto scales = both(p.scales, other.scales), shifts = both(p.offsets, other.offsets);
                const auto x = split_problem(p, *kernels);
                std::vector<float> y(2 * panel_width, -1.0F);
                const auto kernel = halves ? kernels->halves : kernels->bytes;
                kernel({x.digits.data(), 1, columns, p.group, p.groups, x.sums.data(), x.block_scales.data(),
                        x.x_sums.data(), panels.data(), scales.data(), offsets ? shifts.data() : nullptr,
                        y.data(), bytes, p.groups * panel_width});
                CHECK(y == both(product_of(p, *kernels, offsets), product_of(other, *kernels, offsets)));
            }
        }
    }
}
