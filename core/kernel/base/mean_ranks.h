// Ranks of values, as statistics that look at order alone take them.
#pragma once

#include <span>
#include <vector>

namespace switchyard::base {

// Of each value from 1, the smallest; the mean of their ranks for values that are the same. None is NaN.
std::vector<double> mean_ranks(std::span<const double> values);

}  // namespace switchyard::base
