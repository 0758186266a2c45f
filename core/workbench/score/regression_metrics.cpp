#include "core/workbench/score/regression_metrics.h"

#include <cmath>
#include <limits>

namespace switchyard::score {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Metrics of_column(const RegressionColumn& column) {
    if (column.count() == 0) return {};
    const double mse = column.squared_error() / static_cast<double>(column.count());
    return {{"mse", mse},
            {"rmse", std::sqrt(mse)},
            {"mae", column.absolute_error() / static_cast<double>(column.count())},
            {"pearson", column.pearson()},
            {"spearman", column.spearman()},
            {"r2", column.r2()}};
}

}  // namespace

void RegressionColumn::add(double predicted, double right) {
    const double error = predicted - right;
    squared_error_ += error * error;
    absolute_error_ += std::abs(error);
    ++count_;
    correlation_.add(predicted, right);
    predicted_.push_back(predicted);
    right_.push_back(right);
}

double RegressionColumn::r2() const {
    const double squares = correlation_.second_squares();
    return squares > 0.0 ? 1.0 - squared_error_ / squares : nan;
}

Metrics regression_metrics(const std::vector<RegressionColumn>& columns,
                           const std::vector<std::string>& names) {
    std::vector<Metrics> scores;
    for (const auto& column : columns) scores.push_back(of_column(column));
    Metrics means, each;
    for (const char* const name : {"mse", "rmse", "mae", "pearson", "spearman", "r2"}) {
        double sum = 0.0;
        int taken = 0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            for (const auto& [metric, value] : scores[i]) {
                if (metric != name || std::isnan(value)) continue;
                sum += value;
                ++taken;
                if (columns.size() > 1) each.emplace_back(metric + "/" + names[i], value);
            }
        }
        if (taken > 0) means.emplace_back(name, sum / taken);
    }
    means.insert(means.end(), each.begin(), each.end());
    return means;
}

}  // namespace switchyard::score
