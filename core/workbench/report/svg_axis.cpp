#include "core/workbench/report/svg_axis.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/report/number_text.h"

namespace switchyard::report {
namespace {

constexpr double slack = 1e-6;  // of a step: what rounding may have moved a tick

double round_step(double span, int count) {
    const double wanted = span / std::max(1, count);
    const double power = std::pow(10.0, std::floor(std::log10(wanted)));
    const double ratio = wanted / power;
    // The nearest in proportion: the borders are the geometric means.
    return power * (ratio < 1.4142 ? 1.0 : ratio < 3.1623 ? 2.0 : ratio < 7.0711 ? 5.0 : 10.0);
}

void separate(double& low, double& high) {
    if (low > high) std::swap(low, high);
    const double size = std::max(std::abs(low), std::abs(high));
    if (high - low > size * 1e-9) return;
    if (size == 0.0) {  // what is never below zero is drawn so: padding, waits
        high = 1.0;
        return;
    }
    const double margin = size * 0.1;
    low -= margin;
    high += margin;
}

void add_ticks(Axis& axis) {
    const auto first = static_cast<long long>(std::ceil(axis.low / axis.step - slack));
    const auto last = static_cast<long long>(std::floor(axis.high / axis.step + slack));
    for (auto i = first; i <= last; ++i) axis.ticks.push_back(static_cast<double>(i) * axis.step);
}

int exponent(double value) { return static_cast<int>(std::floor(std::log10(value) + slack)); }

}  // namespace

Axis axis_around(double low, double high, int count) {
    separate(low, high);
    Axis axis;
    axis.step = round_step(high - low, count);
    axis.low = std::floor(low / axis.step + slack) * axis.step;
    axis.high = std::ceil(high / axis.step - slack) * axis.step;
    add_ticks(axis);
    return axis;
}

Axis axis_of_steps(double high, int count) {
    Axis axis{0.0, std::max(1.0, high), 1.0, {}};
    axis.step = std::max(1.0, round_step(axis.high, count));
    add_ticks(axis);
    return axis;
}

std::vector<std::string> tick_labels(const Axis& axis) {
    double largest = 0.0;
    for (const double tick : axis.ticks) largest = std::max(largest, std::abs(tick));
    const bool in_thousands = largest >= 1e4 && largest < 1e6 && axis.step >= 100.0;
    const bool extreme = largest > 0.0 && (largest < 1e-3 || largest >= 1e6);
    const double unit = in_thousands ? 1000.0 : 1.0;
    const int decimals = std::max(0, -exponent(axis.step / unit));
    std::vector<std::string> labels;
    for (const double tick : axis.ticks) {
        const bool thousands = in_thousands && tick != 0.0;
        labels.push_back(
            extreme ? short_scientific(tick, 1 + std::max(0, exponent(largest) - exponent(axis.step)))
                    : base::fixed(tick / unit, tick == 0.0 && in_thousands ? 0 : decimals));
        if (thousands) labels.back() += "k";
    }
    return labels;
}

}  // namespace switchyard::report
