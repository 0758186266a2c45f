#include "core/kernel/base/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace switchyard::base {
namespace {

std::string formatted(const char* format, int decimals, double value) {
    char text[512];  // a double has at most 309 digits before the point
    std::snprintf(text, sizeof text, format, decimals, value);
    return text;
}

int exponent_of(const std::string& scientific) {
    return std::atoi(scientific.c_str() + scientific.find('e') + 1);
}

}  // namespace

// The exponent is that after rounding: 0.9996 has one digit before the point.
int decimals_of(double value, int significant) {
    return std::max(0, significant - 1 - exponent_of(formatted("%.*e", significant - 1, value)));
}

std::string fixed(double value, int decimals) { return formatted("%.*f", decimals, value); }

std::string digits(double value, int significant) {
    constexpr int most_decimals = 9;
    return std::isfinite(value) ? fixed(value, std::min(most_decimals, decimals_of(value, significant)))
                                : "-";
}

std::string scientific(double value, int significant) {
    if (!std::isfinite(value)) return "-";
    if (value == 0.0) return "0";
    const auto text = formatted("%.*e", significant - 1, value);
    const int exponent = exponent_of(text);
    return text.substr(0, text.find('e')) + (exponent < 0 ? "e" : "e+") + std::to_string(exponent);
}

std::string interval_text(const Interval& interval, int significant) {
    return digits(interval.median, significant) + " [" + digits(interval.low, significant) + ", " +
           digits(interval.high, significant) + "]";
}

std::string counted(std::size_t count, const std::string& what) {
    return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    if (!std::isfinite(bytes)) return "-";
    std::size_t unit = 0;
    while (std::abs(bytes) >= 999.5 && unit + 1 < std::size(units)) bytes /= 1000.0, ++unit;
    return (unit == 0 ? fixed(bytes, 0) : digits(bytes)) + " " + units[unit];
}

}  // namespace switchyard::base
