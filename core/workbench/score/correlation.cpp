#include "core/workbench/score/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernel/base/mean_ranks.h"

namespace switchyard::score {
namespace {

bool any_nan(std::span<const double> values) {
    return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

}  // namespace

void Correlation::add(double first, double second) {
    if (count_ == 0) {
        first_origin_ = first;
        second_origin_ = second;
    }
    first -= first_origin_;
    second -= second_origin_;
    const auto count = static_cast<double>(++count_);
    const double from_first = first - first_mean_, from_second = second - second_mean_;
    first_mean_ += from_first / count;
    second_mean_ += from_second / count;
    first_squares_ += from_first * (first - first_mean_);
    second_squares_ += from_second * (second - second_mean_);
    products_ += from_first * (second - second_mean_);
}

double Correlation::pearson() const {
    const double scale = std::sqrt(first_squares_) * std::sqrt(second_squares_);
    return scale > 0.0 ? products_ / scale : std::numeric_limits<double>::quiet_NaN();
}

double spearman(std::span<const double> first, std::span<const double> second) {
    if (any_nan(first) || any_nan(second)) return std::numeric_limits<double>::quiet_NaN();
    const auto first_ranks = base::mean_ranks(first), second_ranks = base::mean_ranks(second);
    Correlation ranks;
    for (std::size_t i = 0; i < first_ranks.size(); ++i) ranks.add(first_ranks[i], second_ranks[i]);
    return ranks.pearson();
}

}  // namespace switchyard::score
