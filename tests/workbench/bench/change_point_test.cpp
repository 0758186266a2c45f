// Where a series of times stops warming up. To add a case: draw a series whose change is known.
#include "core/workbench/bench/measure/change_point.h"
#include "core/workbench/bench/measure/simulated_blocks.h"

#include <cmath>

#include <switchyard_test.h>

using namespace switchyard::bench;
using switchyard::test::Approx;

namespace {

std::vector<double> noisy(std::initializer_list<std::pair<int, double>> pieces, double noise,
                          std::uint64_t seed) {
    PhiloxStream random(seed, 9);
    std::vector<double> values;
    for (const auto& [count, level] : pieces) {
        for (int i = 0; i < count; ++i) values.push_back(level * std::exp(noise * standard_normal(random)));
    }
    return values;
}

}  // namespace

TEST_CASE("a step is found where it is, in either direction") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto slow_first = steady_from(noisy({{12, 150.0}, {40, 100.0}}, 0.03, seed));
        CHECK(slow_first >= 11);
        CHECK(slow_first <= 13);
        const auto fast_first = steady_from(noisy({{20, 100.0}, {30, 110.0}}, 0.01, seed));
        CHECK(fast_first >= 19);
        CHECK(fast_first <= 21);
    }
}

TEST_CASE("Pettitt's statistic of a clean step") {
    // Ten low, ten high: |U| is 100 at 10, p = 2 exp(-6 * 100^2 / (20^3 + 20^2)).
    std::vector<double> values;
    for (int i = 0; i < 20; ++i) values.push_back(i < 10 ? 2.0 : 1.0);
    const auto change = strongest_change(values);
    CHECK(change.at == 10);
    CHECK(change.ratio == Approx(2.0));
    CHECK(change.p == Approx(2.0 * std::exp(-6.0 * 10000.0 / 8400.0)));
}

TEST_CASE("a series that is steady is seldom said to change, and a small change is none") {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed)
        changed += steady_from(noisy({{40, 100.0}}, 0.05, 100 + seed)) > 0 ? 1 : 0;
    CHECK(changed <= 12);
    CHECK(steady_from(noisy({{20, 101.0}, {20, 100.0}}, 0.0001, 3)) == 0);
    CHECK(steady_from(std::vector<double>(30, 5.0)) == 0);
    CHECK(steady_from(std::vector<double>{}) == 0);
}

TEST_CASE("two steps: what follows the last is steady") {
    const auto at = steady_from(noisy({{10, 200.0}, {15, 130.0}, {40, 100.0}}, 0.02, 4));
    CHECK(at >= 24);
    CHECK(at <= 26);
}
