#include "core/workbench/compare/experiment/judge_arms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workbench/bench/measure/signed_rank.h"

namespace switchyard::compare {
namespace {

void use_coordinators_clock(ArmResult& arm, std::int64_t lead_in) {
    for (auto& block : arm.blocks) {
        if (block) block->sample.ms = block->wall_ms / static_cast<double>(block->steps + lead_in);
    }
}

void mark_outlier_blocks(ArmResult& arm) {
    std::vector<bench::TimedSample> samples;
    for (const auto& block : arm.blocks) {
        if (!block) continue;
        samples.push_back(block->sample);
        samples.back().ms *=
            static_cast<double>(block->steps) / static_cast<double>(std::max<std::int64_t>(
                                                    1, block->tokens > 0 ? block->tokens : block->samples));
    }
    bench::mark_outliers(samples);
    std::size_t next = 0;
    for (auto& block : arm.blocks) {
        if (block) block->sample.outlier = samples[next++].outlier;
    }
}

void summarise(ArmResult& arm, const Comparison& comparison) {
    if (arm.by_coordinator) use_coordinators_clock(arm, comparison.lead_in);
    mark_outlier_blocks(arm);
    std::vector<double> good, rates, tokens;
    for (const auto& block : arm.blocks) {
        if (!block) continue;
        arm.outliers += block->sample.outlier ? 1 : 0;
        if (block->sample.outlier) continue;
        const double seconds = block->sample.ms * static_cast<double>(block->steps) / 1e3;
        good.push_back(block->sample.ms);
        rates.push_back(static_cast<double>(block->samples) / std::max(seconds, 1e-9));
        tokens.push_back(static_cast<double>(block->tokens) / std::max(seconds, 1e-9));
    }
    arm.step_ms = bench::median_interval(good, {.seed = comparison.seed});
    arm.samples_per_second = bench::median(rates);
    arm.tokens_per_second = bench::median(tokens);
}

// Milliseconds a sample: arms whose loaders make other batches are still comparable.
std::vector<std::optional<double>> costs(const ArmResult& arm) {
    std::vector<std::optional<double>> list;
    for (const auto& block : arm.blocks) {
        const bool good = block && !block->sample.outlier;
        list.push_back(good ? std::optional(block->sample.ms * static_cast<double>(block->steps) /
                                            static_cast<double>(block->samples))
                            : std::nullopt);
    }
    return list;
}

PairResult judge_pair(const Comparison& comparison, std::size_t base_at, std::size_t arm_at, double margin) {
    const ArmResult& base = comparison.arms[base_at];
    const ArmResult& arm = comparison.arms[arm_at];
    PairResult pair{base_at, arm_at, {}, bench::SpeedVerdict::cannot_tell, 1.0, "", std::nullopt};
    const auto base_costs = costs(base), arm_costs = costs(arm);
    std::vector<double> logs;
    for (std::size_t block = 0; block < std::min(base_costs.size(), arm_costs.size()); ++block) {
        if (base_costs[block] && arm_costs[block])
            logs.push_back(std::log(*base_costs[block] / *arm_costs[block]));
    }
    pair.speedup = bench::speedup(base_costs, arm_costs, {.seed = comparison.seed});
    pair.p = bench::signed_rank_p(logs);
    // The bootstrap of fewer than six blocks is their range: too narrow to conclude anything from.
    if (logs.size() < 6)
        pair.reason = "at least six blocks are needed; there are " + std::to_string(logs.size());
    else
        pair.verdict = bench::judge(pair.speedup, margin);
    if (const auto far = too_far(arm.drift, arm.allowed); !far.empty()) {
        pair.verdict = bench::SpeedVerdict::wrong;
        pair.reason = far;
    }
    if (comparison.margin)
        pair.loss = bench::test_equivalence(base.final_losses, arm.final_losses, *comparison.margin);
    return pair;
}

}  // namespace

void summarise_arms(Comparison& comparison) {
    for (auto& arm : comparison.arms) summarise(arm, comparison);
}

void judge_pairs(Comparison& comparison, double margin) {
    const auto base = std::find_if(comparison.arms.begin(), comparison.arms.end(),
                                   [](const ArmResult& arm) { return arm.ok(); });
    const auto at = static_cast<std::size_t>(base - comparison.arms.begin());
    for (std::size_t arm = at + 1; arm < comparison.arms.size(); ++arm) {
        if (comparison.arms[arm].ok()) comparison.pairs.push_back(judge_pair(comparison, at, arm, margin));
    }
}

void judge_stabilities(Comparison& comparison) {
    if (comparison.operation != Operation::step) return;  // nothing was trained
    const auto base = std::find_if(comparison.arms.begin(), comparison.arms.end(),
                                   [](const ArmResult& arm) { return arm.ok(); });
    for (auto& arm : comparison.arms) {
        if (!arm.ok()) {
            if (arm.status == ArmStatus::nan) arm.stability.stable = false;
            arm.stability.reason = arm.status == ArmStatus::nan ? arm.reason : "it did not run to the end";
            continue;
        }
        const bool alone = &arm == &*base || !arm.spec.differs.empty();
        const StepRecord bases{base->losses, base->skipped};
        arm.stability = judge_stability({arm.losses, arm.skipped}, alone ? nullptr : &bases);
    }
}

double final_loss(std::span<const double> losses) {
    const std::size_t count = std::max<std::size_t>(1, losses.size() / 10);
    const auto last = losses.last(std::min(count, losses.size()));
    return std::accumulate(last.begin(), last.end(), 0.0) / static_cast<double>(last.size());
}

}  // namespace switchyard::compare
