#include <switchyard/report/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace switchyard::report {
namespace {

std::string fixed(double value, int decimals) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

// "1234567.5" as "1,234,567.5".
std::string grouped(const std::string& text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool after_digit = i > 0 && text[i - 1] != '-';
        if (after_digit && i < point && (point - i) % 3 == 0) result += ',';
        result += text[i];
    }
    return result;
}

// "4.10e-07" as "4.1e-7".
std::string scientific(double value, int significant) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", significant - 1, value);
    const std::string whole = text;
    const auto e = whole.find('e');
    auto mantissa = whole.substr(0, e);
    if (mantissa.find('.') != std::string::npos) {
        mantissa.erase(mantissa.find_last_not_of('0') + 1);
        if (mantissa.ends_with('.')) mantissa.pop_back();
    }
    return mantissa + "e" + std::to_string(std::stoi(whole.substr(e + 1)));
}

}  // namespace

std::string digits(double value, int significant) {
    if (!std::isfinite(value)) return "not finite";
    if (value == 0.0) return "0";
    const double size = std::abs(value);
    if (size < 1e-3 || size >= 1e12) return scientific(value, significant);
    char rounded[64];  // its exponent is that after rounding: 0.9996 has one digit before the point
    std::snprintf(rounded, sizeof rounded, "%.*e", significant - 1, size);
    const int before = std::atoi(std::strchr(rounded, 'e') + 1) + 1;
    return grouped(fixed(value, std::max(0, significant - before)));
}

std::string interval_text(const Interval& interval, int significant) {
    return digits(interval.median, significant) + " [" + digits(interval.low, significant) + ", " +
           digits(interval.high, significant) + "]";
}

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t unit = 0;
    while (std::abs(bytes) >= 999.5 && unit + 1 < std::size(units)) bytes /= 1000.0, ++unit;
    return digits(bytes) + " " + units[unit];
}

std::string duration_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0.0) return "unknown";
    if (seconds < 59.5) return digits(seconds, 2) + " s";
    const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
    if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
    return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

}  // namespace switchyard::report
