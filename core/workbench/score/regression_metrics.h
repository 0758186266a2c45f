// How far predicted numbers are from the right ones, in their units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/score/correlation.h"
#include "core/workbench/score/metrics.h"

namespace switchyard::score {

class RegressionColumn {
public:
    void add(double predicted, double right);
    std::int64_t count() const { return count_; }
    double squared_error() const { return squared_error_; }  // sums, as the next
    double absolute_error() const { return absolute_error_; }
    // NaN where one of the two does not vary, as the next.
    double pearson() const { return correlation_.pearson(); }
    double spearman() const { return score::spearman(predicted_, right_); }
    // 1 - sum of squared errors / sum of squares about the mean; NaN where the right numbers do not vary.
    double r2() const;

private:
    std::int64_t count_ = 0;
    double squared_error_ = 0.0, absolute_error_ = 0.0;
    Correlation correlation_;
    std::vector<double> predicted_, right_;  // ranks need all of them
};

// mse, rmse, mae, pearson, spearman and r2: of one column, or the means over the columns, and then those of
// each, as "mae/height". What is not defined is left out.
Metrics regression_metrics(const std::vector<RegressionColumn>& columns,
                           const std::vector<std::string>& names);

}  // namespace switchyard::score
