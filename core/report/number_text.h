// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace switchyard::report {

// A median and the ends of its 95 % interval.
struct Interval {
    double median = 0.0;
    double low = 0.0;
    double high = 0.0;
};

// "0.676", "12,561", "1.2e-7": that many significant digits, but never fewer than the whole number has.
std::string digits(double value, int significant = 3);

// "124 [122, 128]".
std::string interval_text(const Interval& interval, int significant = 3);

// "703 MB": powers of 1000, as the benchmarks print them.
std::string bytes_text(double bytes);

// "3 min 12 s", "41 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace switchyard::report
