// How far predicted numbers are from the right ones, in their units.
#pragma once

#include <cstdint>
#include <string>

#include "core/workbench/train/eval_metrics.h"

namespace switchyard::train {

// Pairs of one column, in one pass (Welford 1962, and Bennett et al. 2009 for the products).
class RegressionColumn {
public:
    void add(double predicted, double right);
    std::int64_t count() const { return count_; }
    double squared_error() const { return squared_error_; }  // sums, as the next
    double absolute_error() const { return absolute_error_; }
    // NaN where one of the two does not vary.
    double pearson() const;
    // 1 - sum of squared errors / sum of squares about the mean; NaN where the right numbers do not vary.
    double r2() const;

private:
    std::int64_t count_ = 0;
    double squared_error_ = 0.0, absolute_error_ = 0.0;
    double mean_predicted_ = 0.0, mean_right_ = 0.0;
    double squares_predicted_ = 0.0, squares_right_ = 0.0, products_ = 0.0;
};

// mse, rmse, mae, pearson and r2: of one column, or the means over the columns, and then those of each, as
// "mae/height". What is not defined is left out.
Metrics regression_metrics(const std::vector<RegressionColumn>& columns,
                           const std::vector<std::string>& names);

}  // namespace switchyard::train
