// What is said of two arms. See docs/compare.md for the rules in words.
#include "core/workbench/compare/experiment/judge_arms.h"
#include "core/workbench/compare/experiment/judged_speed.h"

namespace switchyard::compare {
namespace {

// Milliseconds a sample.
BlockCosts costs_of(const ArmResult& arm) {
    BlockCosts costs;
    int round = 0;
    for (const auto& block : arm.blocks) {
        if (block) round = block->round;
        costs.round_of.push_back(round);
        const bool counts = block && !block->repeated;
        costs.all.push_back(counts ? std::optional(block->sample_ms()) : std::nullopt);
        costs.good.push_back(counts && !block->sample.outlier ? costs.all.back() : std::nullopt);
    }
    return costs;
}

}  // namespace

void judge_pairs(Comparison& comparison, double margin) {
    const auto base_at = base_index(comparison);
    std::vector<bench::RatioEstimate> estimates;
    for (std::size_t at = base_at + 1; at < comparison.arms.size(); ++at) {
        const auto &base = comparison.arms[base_at], &arm = comparison.arms[at];
        if (!arm.ok()) continue;
        const auto of_base = costs_of(base), of_arm = costs_of(arm);
        const bool apart = !base.measured_before.empty();
        estimates.push_back(estimate(of_base, of_arm, apart));
        PairResult pair{judged_alone(estimates.back(), of_base, of_arm, apart), base_at, at, {}};
        if (comparison.margin)
            pair.loss = bench::test_equivalence(base.final_losses, arm.final_losses, *comparison.margin);
        comparison.pairs.push_back(std::move(pair));
    }
    std::vector<Concluded> comparisons;
    for (std::size_t i = 0; i < estimates.size(); ++i)
        comparisons.push_back({&comparison.pairs[i], estimates[i]});
    conclude(comparisons, margin);
    for (auto& pair : comparison.pairs) {
        const auto& arm = comparison.arms[pair.arm];
        if (const auto far = too_far(arm.drift, arm.allowed); !far.empty()) {
            pair.verdict = bench::SpeedVerdict::wrong;
            pair.reason = far;
        }
    }
}

}  // namespace switchyard::compare
