#include "core/workbench/score/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace switchyard::score {
namespace {

// From 1; the mean of their ranks for values that are the same.
std::vector<double> ranks_of(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
        const double rank = static_cast<double>(begin + end + 1) / 2.0;
        for (auto i = begin; i < end; ++i) ranks[order[i]] = rank;
    }
    return ranks;
}

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
    const auto first_ranks = ranks_of(first), second_ranks = ranks_of(second);
    Correlation ranks;
    for (std::size_t i = 0; i < first_ranks.size(); ++i) ranks.add(first_ranks[i], second_ranks[i]);
    return ranks.pearson();
}

}  // namespace switchyard::score
