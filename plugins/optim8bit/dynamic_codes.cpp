#include "dynamic_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace switchyard::optim8bit {
namespace {

constexpr int decades = 7;

int codes_of(int decade, bool with_sign) { return 1 << (with_sign ? decade : decade + 1); }

// The j-th of the equally spaced bounds of n parts of (0.1, 1), counted from the nearer end, each with one
// rounding.
float bound(int j, int n) {
    const float part = (1.0F - 0.1F) / static_cast<float>(n);
    return j < (n + 1) / 2 ? std::fmaf(part, static_cast<float>(j), 0.1F)
                           : std::fmaf(-part, static_cast<float>(n - j), 1.0F);
}

CodeBook make_codes(bool with_sign) {
    CodeBook codes{};
    std::size_t count = 0;
    for (int i = 0; i < decades; ++i) {
        const auto size = static_cast<float>(std::pow(10.0, i - (decades - 1)));
        for (int k = 0; k < codes_of(i, with_sign); ++k) {
            const int n = codes_of(i, with_sign);
            const float value = size * ((bound(k, n) + bound(k + 1, n)) / 2.0F);
            codes[count++] = value;
            if (with_sign) codes[count++] = -value;
        }
    }
    codes[count++] = 0.0F;
    codes[count++] = 1.0F;
    std::sort(codes.begin(), codes.end());
    return codes;
}

std::size_t cell_of(float y) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &y, sizeof bits);
    return (bits >> 24U) & 15U;
}

CodeFinder make_finder(const CodeBook& codes, bool with_sign) {
    constexpr int pieces = decades + 2;
    const float* const magnitude = codes.data() + (with_sign ? signed_zero : unsigned_zero);
    CodeFinder finder{};
    std::array<float, pieces> begins{};
    int first = 1;  // place of a decade's first code
    for (int i = 0; i < decades; ++i) {
        const auto piece = static_cast<std::size_t>(i + 1);
        const int n = codes_of(i, with_sign);
        const double slope = std::pow(10.0, decades - 1 - i) * n / 0.9;
        finder.slope[piece] = static_cast<float>(slope);
        finder.offset[piece] = static_cast<float>(first - 0.5 - n / 9.0);
        finder.last[piece] = static_cast<float>(first + n - 1);
        begins[piece] = (magnitude[first - 1] + magnitude[first]) / 2.0F;
        first += n;
    }
    finder.offset[pieces - 1] = finder.last[pieces - 1] = static_cast<float>(first);
    begins[pieces - 1] = (magnitude[first - 1] + magnitude[first]) / 2.0F;

    finder.threshold.fill(std::numeric_limits<float>::infinity());
    for (std::size_t piece = 1; piece < pieces; ++piece)
        finder.threshold[cell_of(begins[piece])] = begins[piece];
    std::int32_t piece = 0;
    for (std::size_t cell = 0; cell < 16; ++cell) {
        finder.below[cell] = piece;
        if (std::isfinite(finder.threshold[cell])) ++piece;
    }
    return finder;
}

}  // namespace

const CodeBook& signed_codes() {
    static const CodeBook codes = make_codes(true);
    return codes;
}

const CodeBook& unsigned_codes() {
    static const CodeBook codes = make_codes(false);
    return codes;
}

const CodeFinder& signed_finder() {
    static const CodeFinder finder = make_finder(signed_codes(), true);
    return finder;
}

const CodeFinder& unsigned_finder() {
    static const CodeFinder finder = make_finder(unsigned_codes(), false);
    return finder;
}

}  // namespace switchyard::optim8bit
