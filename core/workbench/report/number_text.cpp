#include "core/workbench/report/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace switchyard::report {
namespace {

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

}  // namespace

std::string short_scientific(double value, int significant) {
    auto text = base::scientific(value, significant);
    std::erase(text, '+');
    const auto e = text.find('e');
    if (text.find('.') == std::string::npos || e == std::string::npos) return text;
    auto mantissa = text.substr(0, e);
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.ends_with('.')) mantissa.pop_back();
    return mantissa + text.substr(e);
}

std::string page_number(double value, int significant) {
    if (!std::isfinite(value)) return "not finite";
    if (value == 0.0) return "0";
    const double size = std::abs(value);
    if (size < 1e-3 || size >= 1e12) return short_scientific(value, significant);
    return grouped(base::fixed(value, base::decimals_of(value, significant)));
}

std::string page_interval(const Interval& interval, int significant) {
    return page_number(interval.median, significant) + " [" + page_number(interval.low, significant) + ", " +
           page_number(interval.high, significant) + "]";
}

std::string page_ratio(double value) {
    const bool far = std::isfinite(value) && value > 0.0 && (value >= 1e4 || value < 1e-3);
    return far ? short_scientific(value, 2) : page_number(value);
}

std::string page_ratio(const Interval& interval) {
    return page_ratio(interval.median) + " [" + page_ratio(interval.low) + ", " + page_ratio(interval.high) +
           "]";
}

std::string duration_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0.0) return "unknown";
    if (seconds < 59.5) return page_number(seconds, 2) + " s";
    const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
    if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
    return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

}  // namespace switchyard::report
