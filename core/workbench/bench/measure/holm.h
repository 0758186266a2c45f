// What several comparisons at once do to their p-values.
//
// No LibTorch here.
#pragma once

#include <span>
#include <vector>

namespace switchyard::bench {

// Holm's step-down correction (1979, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
// Journal of Statistics 6:65): where none of the differences is there, the chance that any of these falls
// below a level is at most that level, whatever the comparisons have in common - here the base. In the order
// given; what is not a number stays so and does not count.
std::vector<double> holm(std::span<const double> p);

}  // namespace switchyard::bench
