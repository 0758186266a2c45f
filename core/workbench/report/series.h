// Curves before they are drawn: smoothed, and thinned out so that a long run still fits a small file.
#pragma once

#include <cstddef>
#include <vector>

namespace switchyard::report {

struct Point {
    double x = 0.0;
    double y = 0.0;
};
using Points = std::vector<Point>;

// At most `limit` (4 or more) points that keep the first, the last, and of every stretch between them its
// lowest and its highest:
// a spike of one step stays visible. What is short enough comes back as it is.
Points thinned(const Points& points, std::size_t limit);

// Reach of the smoothing to each side, in points.
std::size_t smoothing_reach(std::size_t points);

// The centred mean over that reach, taken twice: a triangular window, which lags behind nothing. Windows are
// cut at both ends.
Points smoothed(const Points& points);

}  // namespace switchyard::report
