// Axes: where round ticks stand and how they are labelled.
#pragma once

#include <string>
#include <vector>

namespace switchyard::report {

struct Axis {
    double low = 0.0;
    double high = 1.0;
    double step = 1.0;          // 1, 2 or 5 times a power of ten
    std::vector<double> ticks;  // the multiples of `step` from low to high
};

// About `count` ticks (0.7 to 1.5 times as many). Equal ends are moved apart first, then both outward to the
// next tick.
Axis axis_around(double low, double high, int count);

// Whole numbers only, from 0: for steps.
Axis axis_of_steps(double high, int count);

// As many decimals for all as the step needs; "12k" from ten thousand on, "2e-5" for the very small and the
// very large.
std::vector<std::string> tick_labels(const Axis& axis);

}  // namespace switchyard::report
