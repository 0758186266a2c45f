// The rectangle of a plot, with its axes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {

// The rectangle that curves are drawn in, and the way from values to it.
struct Frame {
    double left, top, right, bottom;
    Axis x, y;
    double at_x(double value) const { return left + (value - x.low) / (x.high - x.low) * (right - left); }
    double at_y(double value) const { return bottom - (value - y.low) / (y.high - y.low) * (bottom - top); }
};

// How many ticks there is room for.
int ticks_across(const Canvas& canvas);
int ticks_up(const Canvas& canvas);
// With room for the numbers of both axes and for what they show.
Frame frame_around(Axis x, Axis y, const Canvas& canvas);

// The length of the longest, in characters.
std::size_t longest(const std::vector<std::string>& labels);

std::string x_axis(const Axis& axis, const Frame& frame, const std::string& label);
// With lines through the plot.
std::string y_axis(const Frame& frame, const std::string& label);

}  // namespace switchyard::report
