// What it would take to tell two arms apart, held against comparisons that take it. To add a case: make a
// comparison, or two arms of made-up times, one comparison of few blocks and one of as many as that says.
#include <cmath>

#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/time_to_tell.h"

#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

// 24 blocks of two arms, 66 s in all.
Comparison undecided(const base::Interval& speedup) {
    Comparison comparison;
    comparison.blocks = 24;
    for (const char* name : {"a", "b"}) {
        auto& arm = comparison.arms.emplace_back();
        arm.spec.name = name;
        for (int i = 0; i < comparison.blocks; ++i)
            arm.blocks.emplace_back(ArmBlock{}).value().wall_ms = 1375.0;
    }
    auto& pair = comparison.pairs.emplace_back();
    pair.arm = 1;
    pair.speedup = speedup;
    return comparison;
}

std::string told(const Comparison& comparison) { return time_to_tell(comparison, comparison.pairs[0]); }

Comparison of_blocks(int blocks, std::uint64_t seed) {
    auto settings = quick_settings();
    settings.blocks = blocks;
    Log log;
    std::vector<StartedArm> arms;
    arms.push_back(made_up_arm("a", scattered(300.0, 0.08, seed), log));
    arms.push_back(made_up_arm("b", scattered(300.0, 0.08, 100 + seed), log));
    return run_experiment(std::move(arms), settings);
}

double half_width(const Comparison& comparison) {
    const auto& speedup = comparison.pairs[0].speedup;
    return std::log(speedup.high / speedup.low) / 2.0;
}

}  // namespace

TEST_CASE("what it takes to tell two arms apart: half of what is the same, or of a larger difference") {
    // ln(1.06 / 0.963) / 2 is 4.8 times 1 %: 23 times as many blocks.
    CHECK(told(undecided({1.01, 0.963, 1.06})) ==
          "+-1.0 % would take about 560 blocks (--time 1900), fewer on a quieter machine");
    // ln(1.27 / 0.95) / 2 is three times half of ln(1.1).
    CHECK(told(undecided({1.10, 0.95, 1.27})) ==
          "+-4.8 % would take about 230 blocks (--time 770), fewer on a quieter machine");
    CHECK_THAT(
        sentence(undecided({1.01, 0.963, 1.06}), undecided({1.01, 0.963, 1.06}).pairs[0]),
        contains("CANNOT TELL whether it is faster than a: 1.01 [0.963, 1.06] times as fast (p 1); +-1.0 %"));
}

TEST_CASE("of several rounds it is rounds that it takes more of") {
    auto comparison = undecided({1.01, 0.963, 1.06});
    comparison.rounds = 6;
    CHECK(told(comparison) ==
          "+-1.0 % would take about 560 blocks in 140 rounds (--rounds 140 --time 1900), fewer on a quieter "
          "machine");
}

TEST_CASE("nobody is told how to narrow what has no interval, is narrow enough, or was measured before") {
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(told(undecided({1.01, 0.0, inf})).empty());
    CHECK(told(undecided({1.015, 1.008, 1.022})).empty());
    auto before = undecided({1.01, 0.963, 1.06});
    before.arms[0].measured_before = "old.json";
    CHECK(told(before).empty());
    CHECK_THAT(sentence(before, before.pairs[0]), contains("; use more blocks or a quieter machine"));
}

TEST_CASE("as many blocks as are told give about that interval") {
    double sum = 0.0;
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto few = of_blocks(24, seed);
        const auto& pair = few.pairs[0];
        if (pair.verdict != SpeedVerdict::cannot_tell || !pair.reason.empty()) continue;
        const double aim = std::max(0.02, std::abs(std::log(pair.speedup.median))) / 2.0;
        const auto text = time_to_tell(few, pair);
        const auto at = text.find("about ");
        REQUIRE(at != std::string::npos);
        const int blocks = std::stoi(text.substr(at + 6));
        sum += half_width(of_blocks(blocks, 1000 + seed)) / aim;
        ++count;
    }
    REQUIRE(count >= 10);
    CHECK(sum / count == Approx(1.0).epsilon(0.25));
}
