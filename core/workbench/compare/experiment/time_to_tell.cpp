#include "core/workbench/compare/experiment/time_to_tell.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/kernel/base/number_text.h"

namespace switchyard::compare {
namespace {

constexpr double beside_blocks = 1.25;  // warm-up and further starts, which take of --time, too

// The next number of two digits, which nobody takes for exact: "1500" of 1,432.
std::string about(double value) {
    const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1.0));
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", std::ceil(value / unit) * unit);
    return text;
}

double seconds_of_blocks(const Comparison& comparison) {
    double ms = 0.0;
    for (const auto& arm : comparison.arms) {
        for (const auto& block : arm.blocks) ms += block ? block->wall_ms : 0.0;
    }
    return ms / 1e3;
}

}  // namespace

std::string time_to_tell(const Comparison& comparison, const PairResult& pair) {
    const auto& [median, low, high] = pair.speedup;
    if (!std::isfinite(median) || !std::isfinite(low) || !std::isfinite(high) || low <= 0.0) return "";
    if (!comparison.arms[pair.base].measured_before.empty()) return "";  // more of it cannot be had
    const double aim = std::max(bench::same_margin, std::abs(std::log(median))) / 2.0;
    const double times = std::pow(std::log(high / low) / 2.0 / aim, 2.0);
    const double seconds = seconds_of_blocks(comparison) * times * beside_blocks;
    if (!std::isfinite(times) || times <= 1.0 || seconds <= 0.0) return "";
    std::string text = "+-" + base::digits(100.0 * aim, 2) + " % would take about " +
                       about(comparison.blocks * times) + " blocks";
    std::string options = "--time " + about(std::max(1.0, seconds));
    if (comparison.rounds > 1) {
        const auto rounds = about(comparison.rounds * times);
        text += " in " + rounds + " rounds";
        options = "--rounds " + rounds + " " + options;
    }
    return text + " (" + options + "), fewer on a quieter machine";
}

}  // namespace switchyard::compare
