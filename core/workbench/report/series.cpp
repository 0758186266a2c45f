#include "core/workbench/report/series.h"

#include <algorithm>

namespace switchyard::report {
namespace {

bool lower(const Point& a, const Point& b) { return a.y < b.y; }

Points box_mean(const Points& points, std::size_t reach) {
    std::vector<double> sums(points.size() + 1, 0.0);
    for (std::size_t i = 0; i < points.size(); ++i) sums[i + 1] = sums[i] + points[i].y;
    Points result = points;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t begin = i - std::min(i, reach);
        const std::size_t end = std::min(points.size(), i + reach + 1);
        result[i].y = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
    }
    return result;
}

}  // namespace

Points thinned(const Points& points, std::size_t limit) {
    if (points.size() <= limit) return points;
    const std::size_t inner = points.size() - 2;
    const std::size_t stretches = std::max<std::size_t>(1, (limit - 2) / 2);
    Points result{points.front()};
    for (std::size_t s = 0; s < stretches; ++s) {
        const auto begin = points.begin() + 1 + static_cast<std::ptrdiff_t>(inner * s / stretches);
        const auto end = points.begin() + 1 + static_cast<std::ptrdiff_t>(inner * (s + 1) / stretches);
        if (begin == end) continue;
        const auto [low, high] = std::minmax_element(begin, end, lower);
        result.push_back(*std::min(low, high));
        if (low != high) result.push_back(*std::max(low, high));
    }
    result.push_back(points.back());
    return result;
}

std::size_t smoothing_reach(std::size_t points) { return points / 30; }

Points smoothed(const Points& points) {
    const std::size_t reach = smoothing_reach(points.size());
    return reach == 0 ? points : box_mean(box_mean(points, reach), reach);
}

}  // namespace switchyard::report
