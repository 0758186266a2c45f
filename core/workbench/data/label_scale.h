// Mean and standard deviation of the numbers that a regression learns, column by column: what is learnt is
// (value - mean) / deviation. Without columns: numbers are learnt as they are.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace switchyard::data {

struct LabelScale {
    std::vector<double> mean, deviation;
    bool operator==(const LabelScale&) const = default;

    double learnt(std::size_t column, double value) const {
        return mean.empty() ? value : (value - mean[column]) / deviation[column];
    }
    // Of what a model says, in units of the data.
    double value(std::size_t column, double learnt) const {
        return mean.empty() ? learnt : learnt * deviation[column] + mean[column];
    }
};

// Of rows of `columns` values each, of which NaN do not count. A column that does not vary has the
// deviation 1.
LabelScale scale_of(const std::vector<double>& values, std::size_t columns);

}  // namespace switchyard::data
