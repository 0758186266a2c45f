// Thinning keeps what can be seen; smoothing shifts nothing.
#include <algorithm>
#include <cmath>

#include "core/workbench/report/series.h"

#include <switchyard_test.h>

using namespace switchyard::report;
using switchyard::test::Approx;

namespace {

Points wave(std::size_t count) {
    Points points;
    for (std::size_t i = 0; i < count; ++i)
        points.push_back({static_cast<double>(i), std::sin(static_cast<double>(i) * 0.37)});
    return points;
}

bool has(const Points& points, double x, double y) {
    return std::any_of(points.begin(), points.end(), [&](const Point& p) { return p.x == x && p.y == y; });
}

}  // namespace

TEST_CASE("a short curve is not thinned") {
    const auto points = wave(100);
    CHECK(thinned(points, 100).size() == 100);
    CHECK(thinned({}, 100).empty());
}

TEST_CASE("a thinned curve keeps its ends and every spike, in order") {
    auto points = wave(100000);
    points[31415].y = 50.0;
    points[31416].y = -60.0;
    points[99998].y = 70.0;
    const auto limit = GENERATE(4u, 50u, 1600u);
    const auto few = thinned(points, limit);
    CHECK(few.size() <= limit);
    CHECK(few.front().x == 0.0);
    CHECK(few.back().x == 99999.0);
    CHECK(has(few, 31416.0, -60.0));
    CHECK(has(few, 99998.0, 70.0));
    if (limit > 4) CHECK(has(few, 31415.0, 50.0));
    CHECK(std::is_sorted(few.begin(), few.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
}

TEST_CASE("the smoothed curve keeps places, a constant, and a slope away from the ends") {
    Points flat(300), slope(300);
    for (std::size_t i = 0; i < 300; ++i) {
        flat[i] = {static_cast<double>(i), 2.5};
        slope[i] = {static_cast<double>(i), 3.0 * static_cast<double>(i)};
    }
    const auto same = smoothed(flat), still = smoothed(slope);
    for (std::size_t i = 0; i < 300; ++i) {
        CHECK(same[i].y == Approx(2.5));
        CHECK(still[i].x == slope[i].x);
        if (i >= 20 && i < 280) CHECK(still[i].y == Approx(slope[i].y));
    }
}

TEST_CASE("smoothing is the mean over a triangular window") {
    Points impulse(61);  // reaches 2 to each side, twice
    for (std::size_t i = 0; i < 61; ++i) impulse[i] = {static_cast<double>(i), i == 30 ? 25.0 : 0.0};
    const auto smooth = smoothed(impulse);
    const double expected[] = {5, 4, 3, 2, 1, 0};
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(smooth[30 + i].y == Approx(expected[i]).margin(1e-12));
        CHECK(smooth[30 - i].y == Approx(expected[i]).margin(1e-12));
    }
    CHECK(smoothed(Points(1)).size() == 1);
    CHECK(smoothed({}).empty());
}
