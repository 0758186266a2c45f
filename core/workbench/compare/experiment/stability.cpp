#include "core/workbench/compare/experiment/stability.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"

namespace switchyard::compare {
namespace {

constexpr double allowed_share = 0.01;  // of skipped steps after the opening
constexpr double allowed_rise = 0.10;
constexpr double standard_errors = 3.0;
constexpr std::size_t least_window = 5;

struct Mean {
    double value = 0.0;
    double error = 0.0;  // of the mean
    std::size_t count = 0;
};

Mean mean_of(const std::vector<double>& values) {
    Mean mean;
    mean.count = values.size();
    if (values.empty()) return mean;
    const auto n = static_cast<double>(values.size());
    for (const double value : values) mean.value += value / n;
    double squares = 0.0;
    for (const double value : values) squares += (value - mean.value) * (value - mean.value);
    if (values.size() > 1) mean.error = std::sqrt(squares / (n - 1.0) / n);
    return mean;
}

std::size_t window_of(const StepRecord& record) {
    return std::max<std::size_t>(least_window, record.losses.size() / 10);
}

// Losses of the steps from..to that were taken.
std::vector<double> taken(const StepRecord& record, std::size_t from, std::size_t to) {
    std::vector<double> losses;
    for (std::size_t i = from; i < to; ++i) {
        if (!record.skipped[i]) losses.push_back(record.losses[i]);
    }
    return losses;
}

std::string text(const char* format, double a, double b) {
    char buffer[160];
    std::snprintf(buffer, sizeof buffer, format, a, b);
    return buffer;
}

std::string too_many_skips(const StepRecord& arm, std::int64_t late) {
    const auto steps = arm.losses.size() - std::min(arm.losses.size(), opening_steps);
    const auto allowed =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(allowed_share * static_cast<double>(steps)));
    if (late <= allowed) return "";
    return std::to_string(late) + " of the " + std::to_string(steps) + " steps after the first " +
           std::to_string(opening_steps) + " were skipped; stable is at most " + std::to_string(allowed);
}

// Variance of a step's loss within a window, from all windows: that of a few steps alone is small by chance.
double scatter(const StepRecord& arm, std::size_t window) {
    double sum = 0.0;
    int windows = 0;
    for (std::size_t from = 0; from + window <= arm.losses.size(); from += window) {
        const auto mean = mean_of(taken(arm, from, from + window));
        if (mean.count < 2) continue;
        sum += mean.error * mean.error * static_cast<double>(mean.count);
        ++windows;
    }
    return windows == 0 ? 0.0 : sum / windows;
}

std::string rise(const StepRecord& arm) {
    const auto window = window_of(arm), steps = arm.losses.size();
    const auto first = mean_of(taken(arm, 0, window)), last = mean_of(taken(arm, steps - window, steps));
    if (first.count == 0 || last.count == 0) return "";
    const double by = last.value - first.value;
    const double error = std::sqrt(scatter(arm, window) * (1.0 / static_cast<double>(first.count) +
                                                           1.0 / static_cast<double>(last.count)));
    if (by <= allowed_rise * std::abs(first.value) || by <= standard_errors * error) return "";
    return text("the loss rose from %.4g to %.4g", first.value, last.value);
}

struct Paired {
    Mean difference, base;
};

Paired paired(const StepRecord& arm, const StepRecord& base) {
    const auto steps = std::min(arm.losses.size(), base.losses.size());
    std::vector<double> differences, bases;
    for (std::size_t i = steps - std::min(steps, window_of(arm)); i < steps; ++i) {
        if (arm.skipped[i] || base.skipped[i]) continue;
        differences.push_back(arm.losses[i] - base.losses[i]);
        bases.push_back(base.losses[i]);
    }
    return {mean_of(differences), mean_of(bases)};
}

std::string departure(const Paired& last) {
    const double by = last.difference.value;
    if (last.base.count == 0 || by <= allowed_rise * std::abs(last.base.value) ||
        by <= standard_errors * last.difference.error)
        return "";
    return text("its loss at the end is %.4g, the base's %.4g", last.base.value + by, last.base.value);
}

// "accuracy 0.81, the base has 0.84"
std::string other_accuracy(const std::optional<double>& arm, const std::optional<double>& base) {
    constexpr double rounding = 1e-12;  // of two shares, for one point is as good as a point
    if (!arm || !base || std::abs(*arm - *base) <= accuracy_margin + rounding) return "";
    return text("accuracy %.4g, the base has %.4g", *arm, *base);
}

}  // namespace

Stability judge_stability(const StepRecord& arm, const StepRecord* base) {
    Stability result;
    for (std::size_t i = opening_steps; i < arm.skipped.size(); ++i)
        result.late_skips += arm.skipped[i] ? 1 : 0;
    std::string reasons;
    const auto add = [&](const std::string& reason) {
        if (!reason.empty()) base::add_item(reasons, reason, "; ");
    };
    add(too_many_skips(arm, result.late_skips));
    if (base != nullptr) {
        const auto last = paired(arm, *base);
        if (last.base.count > 0) result.loss_drift = last.difference.value / std::abs(last.base.value);
        if (arm.losses.size() >= least_steps) add(departure(last));
    }
    if (arm.losses.size() >= least_steps) add(rise(arm));
    result.reason = reasons;
    if (!reasons.empty())
        result.stable = false;
    else if (arm.losses.size() >= least_steps)
        result.stable = true;
    else
        result.reason = "at least " + std::to_string(least_steps) + " steps are needed; there are " +
                        std::to_string(arm.losses.size());
    return result;
}

void judge_accuracy(const std::vector<std::optional<double>>& arm,
                    const std::vector<std::optional<double>>& base, Stability& stability) {
    constexpr std::size_t shown_seeds = 3;
    std::string reasons;
    std::size_t found = 0;
    for (std::size_t seed = 0; seed < std::min(arm.size(), base.size()); ++seed) {
        const auto other = other_accuracy(arm[seed], base[seed]);
        if (!other.empty() && ++found <= shown_seeds)
            base::add_item(reasons, "seed " + std::to_string(seed + 1) + ": " + other, "; ");
    }
    if (found == 0) return;
    if (found > shown_seeds)
        base::add_item(reasons, "and " + base::counted(found - shown_seeds, "other seed"), "; ");
    if (!stability.stable) stability.reason.clear();  // it says why nothing could be told
    stability.stable = false;
    base::add_item(stability.reason, reasons, "; ");
}

}  // namespace switchyard::compare
