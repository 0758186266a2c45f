// Effects of a factorial experiment, with made-up arms whose effects are known. To add a case: say what each
// factor does.
#include <cmath>
#include <functional>
#include <stdexcept>

#include "core/workbench/bench/measure/simulated_blocks.h"
#include "core/workbench/compare/experiment/arm_list.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/effects.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

using Factor = std::function<double(const std::vector<std::size_t>& levels)>;

// Times of each arm by what its levels make of 100 ms, on a machine whose mood is the same for all arms of a
// block.
Comparison factorial(const WrittenArms& written, const Factor& factor) {
    Comparison comparison;
    comparison.steps_per_block = 1;
    for (auto& spec : list_arms(written, {}).arms) comparison.arms.emplace_back().spec = std::move(spec);
    PhiloxStream random(3, 51);
    for (int block = 0; block < 48; ++block) {
        const double mood = std::exp(0.3 * standard_normal(random));
        for (auto& arm : comparison.arms) {
            ArmBlock made;
            made.sample.ms =
                100.0 * mood * factor(arm.spec.levels) * std::exp(0.005 * standard_normal(random));
            made.steps = made.samples = 1;
            made.round = block / 6;
            arm.blocks.emplace_back(made);
        }
    }
    return comparison;
}

const Effect& effect(const std::vector<Effect>& effects, EffectKind kind, const std::string& change) {
    for (const auto& one : effects) {
        if (one.kind == kind && one.change == change) return one;
    }
    throw std::runtime_error("no effect of " + change);
}

double size(const std::vector<Effect>& effects, EffectKind kind, const std::string& change) {
    return effect(effects, kind, change).estimate.ratio.median;
}

WrittenArms two_factors() {
    WrittenArms written;
    written.vary = {"attention.backend=naive,flash", "batch.layout=padded,packed"};
    return written;
}

double nothing(const std::vector<std::size_t>&) { return 1.0; }

}  // namespace

TEST_CASE("two factors that multiply: each alone, both together, no interaction") {
    const auto comparison = factorial(two_factors(), [](const auto& levels) {
        return (levels[0] == 1 ? 1.0 / 1.2 : 1.0) * (levels[1] == 1 ? 1.0 / 1.6 : 1.0);
    });
    const auto effects = effects_of(comparison);
    REQUIRE(effects.size() == 6);
    CHECK(size(effects, EffectKind::alone, "attention=flash") == Approx(1.2).epsilon(0.01));
    CHECK(size(effects, EffectKind::average, "attention=flash") == Approx(1.2).epsilon(0.01));
    CHECK(size(effects, EffectKind::alone, "batch.layout=packed") == Approx(1.6).epsilon(0.01));
    const std::string both = "attention=flash batch.layout=packed";
    CHECK(size(effects, EffectKind::together, both) == Approx(1.92).epsilon(0.01));
    const auto& none = effect(effects, EffectKind::interaction, both).estimate;
    CHECK(none.ratio.low < 1.001);
    CHECK(none.ratio.high > 0.999);
    CHECK(none.ratio.high < 1.02);
    const auto text = to_text(comparison);
    CHECK_THAT(text, contains("attention=flash  "));
    CHECK_THAT(text, contains("interaction "));
    CHECK(to_json(comparison)["effects"].size() == 6);
}

TEST_CASE("two factors that are in each other's way: the interaction is found") {
    const auto effects = effects_of(factorial(two_factors(), [](const auto& levels) {
        if (levels[0] == 1 && levels[1] == 1) return 1.0 / 1.3;
        return levels[0] + levels[1] > 0 ? 1.0 / 1.2 : 1.0;
    }));
    const auto& less =
        effect(effects, EffectKind::interaction, "attention=flash batch.layout=packed").estimate;
    CHECK(less.ratio.median == Approx(1.3 / 1.44).epsilon(0.01));
    CHECK(less.ratio.high < 1.0);
    CHECK(less.p < 0.001);
    // The mean of 1.2 alone and of 1.3 / 1.2 beside the other.
    CHECK(size(effects, EffectKind::average, "attention=flash") == Approx(std::sqrt(1.3)).epsilon(0.01));
}

TEST_CASE("one at a time: the first values, and each other one alone") {
    auto written = two_factors();
    written.vary.push_back("precision.backend=amp/fp32,amp/bf16,amp/fp16");
    written.one_at_a_time = true;
    const auto arms = list_arms(written, {}).arms;
    REQUIRE(arms.size() == 5);
    CHECK(arms[0].levels == std::vector<std::size_t>{0, 0, 0});
    CHECK(arms[4].levels == std::vector<std::size_t>{1, 0, 0});
    CHECK(arms[1].name == "attention=naive batch.layout=padded precision=amp/bf16");
    const auto effects =
        effects_of(factorial(written, [](const auto& levels) { return levels[2] == 2 ? 0.5 : 1.0; }));
    CHECK(effects.size() == 4);
    CHECK(size(effects, EffectKind::alone, "precision=amp/fp16") == Approx(2.0).epsilon(0.01));
    written.one_at_a_time = false;
    CHECK(list_arms(written, {}).arms.size() == 12);
}

TEST_CASE("an arm that failed takes its effects with it, and one factor has none beside the ratio") {
    auto comparison = factorial(two_factors(), nothing);
    comparison.arms[3].status = ArmStatus::crashed;
    for (const auto& one : effects_of(comparison)) CHECK(one.kind == EffectKind::alone);
    comparison.arms[0].status = ArmStatus::crashed;
    CHECK(effects_of(comparison).empty());
    auto one_factor = two_factors();
    one_factor.vary.pop_back();
    CHECK(effects_of(factorial(one_factor, nothing)).empty());
}
