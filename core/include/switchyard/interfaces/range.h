// A dimension of a request: one value, or all values from `min` to `max`. A binding is made once for a range
// of shapes, so a component answers for the whole range: it serves it only if it serves every value in it.
#pragma once

#include <cstdint>
#include <ostream>

namespace switchyard {

struct Range {
    std::int64_t min = 0;
    std::int64_t max = 0;

    constexpr Range() = default;
    constexpr Range(std::int64_t value)
        : min(value), max(value) {}  // NOLINT: a plain number is a range of one
    constexpr Range(std::int64_t low, std::int64_t high) : min(low), max(high) {}

    constexpr bool single() const { return min == max; }
    constexpr bool within(std::int64_t low, std::int64_t high) const { return min >= low && max <= high; }
    // True if every value in the range is a multiple of `n`; a range of several values can only be for n ==
    // 1.
    constexpr bool all_multiples_of(std::int64_t n) const { return n == 1 || (single() && min % n == 0); }
    constexpr bool operator==(const Range&) const = default;

    friend std::ostream& operator<<(std::ostream& out, const Range& range) {
        out << range.min;
        if (!range.single()) out << ".." << range.max;
        return out;
    }
};

}  // namespace switchyard
