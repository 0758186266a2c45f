#include "core/workbench/train/regression_metrics.h"

#include <cmath>
#include <limits>

namespace switchyard::train {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Metrics of_column(const RegressionColumn& column) {
    if (column.count() == 0) return {};
    const double mse = column.squared_error() / static_cast<double>(column.count());
    return {{"mse", mse},
            {"rmse", std::sqrt(mse)},
            {"mae", column.absolute_error() / static_cast<double>(column.count())},
            {"pearson", column.pearson()},
            {"r2", column.r2()}};
}

}  // namespace

void RegressionColumn::add(double predicted, double right) {
    const double error = predicted - right;
    squared_error_ += error * error;
    absolute_error_ += std::abs(error);
    const auto count = static_cast<double>(++count_);
    const double from_predicted = predicted - mean_predicted_, from_right = right - mean_right_;
    mean_predicted_ += from_predicted / count;
    mean_right_ += from_right / count;
    squares_predicted_ += from_predicted * (predicted - mean_predicted_);
    squares_right_ += from_right * (right - mean_right_);
    products_ += from_predicted * (right - mean_right_);
}

double RegressionColumn::pearson() const {
    const double scale = std::sqrt(squares_predicted_) * std::sqrt(squares_right_);
    return scale > 0.0 ? products_ / scale : nan;
}

double RegressionColumn::r2() const {
    return squares_right_ > 0.0 ? 1.0 - squared_error_ / squares_right_ : nan;
}

Metrics regression_metrics(const std::vector<RegressionColumn>& columns,
                           const std::vector<std::string>& names) {
    Metrics means, each;
    for (const char* const name : {"mse", "rmse", "mae", "pearson", "r2"}) {
        double sum = 0.0;
        int taken = 0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            for (const auto& [metric, value] : of_column(columns[i])) {
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

}  // namespace switchyard::train
