#include "core/workbench/compare/experiment/judge_arms.h"

#include <algorithm>
#include <cmath>

namespace switchyard::compare {
namespace {

void use_coordinators_clock(ArmResult& arm, std::int64_t lead_in) {
    for (auto& block : arm.blocks) {
        if (block) block->sample.ms = block->wall_ms / static_cast<double>(block->steps + lead_in);
    }
}

bool counts(const std::optional<ArmBlock>& block) { return block && !block->repeated; }

void summarise(ArmResult& arm, const Comparison& comparison) {
    if (arm.by_coordinator) use_coordinators_clock(arm, comparison.lead_in);
    mark_outlier_blocks(arm);
    arm.outliers = 0;
    std::vector<double> good, rates, tokens, prefill, decode;
    for (const auto& block : arm.blocks) {
        if (!counts(block)) continue;
        arm.outliers += block->sample.outlier ? 1 : 0;
        if (block->sample.outlier) continue;
        const double seconds = block->sample.ms * static_cast<double>(block->steps) / 1e3;
        good.push_back(block->sample.ms);
        if (std::isfinite(block->prefill_ms) && !arm.by_coordinator) {
            prefill.push_back(block->prefill_ms);
            decode.push_back(block->sample.ms - block->prefill_ms);
        }
        rates.push_back(static_cast<double>(block->samples) / std::max(seconds, 1e-9));
        tokens.push_back(static_cast<double>(block->tokens) / std::max(seconds, 1e-9));
    }
    arm.step_ms = bench::median_interval(good, {.seed = comparison.seed});
    if (!prefill.empty()) {
        arm.prefill_ms = bench::median_interval(prefill, {.seed = comparison.seed});
        arm.decode_ms = bench::median_interval(decode, {.seed = comparison.seed});
    }
    arm.samples_per_second = bench::median(rates);
    arm.tokens_per_second = bench::median(tokens);
}

std::vector<std::optional<double>> accuracies(const ArmResult& arm) {
    std::vector<std::optional<double>> by_seed;
    for (const auto& evaluation : arm.evaluations)
        by_seed.push_back(value_of(evaluation, EvalMetric::accuracy));
    return by_seed;
}

}  // namespace

void mark_outlier_blocks(ArmResult& arm) {
    std::vector<bench::TimedSample> samples;
    for (const auto& block : arm.blocks) {
        if (!counts(block)) continue;
        samples.push_back(block->sample);
        samples.back().ms *=
            static_cast<double>(block->steps) / static_cast<double>(std::max<std::int64_t>(
                                                    1, block->tokens > 0 ? block->tokens : block->samples));
    }
    bench::mark_outliers(samples);
    std::size_t next = 0;
    for (auto& block : arm.blocks) {
        if (counts(block)) block->sample.outlier = samples[next++].outlier;
    }
}

std::size_t base_index(const Comparison& comparison) {
    const auto found = std::find_if(comparison.arms.begin(), comparison.arms.end(),
                                    [](const ArmResult& arm) { return arm.ok(); });
    return static_cast<std::size_t>(found - comparison.arms.begin());
}

void summarise_arms(Comparison& comparison) {
    for (auto& arm : comparison.arms) summarise(arm, comparison);
}

void judge_stabilities(Comparison& comparison) {
    if (comparison.operation != Operation::step) return;  // nothing was trained
    const auto base = comparison.arms.begin() + static_cast<std::ptrdiff_t>(base_index(comparison));
    for (auto& arm : comparison.arms) {
        if (!arm.ok()) {
            if (arm.status == ArmStatus::nan) arm.stability.stable = false;
            arm.stability.reason = arm.status == ArmStatus::nan ? arm.reason : "it did not run to the end";
            continue;
        }
        const bool alone = &arm == &*base || !arm.spec.differs.empty() || arm.spec.own_batches;
        const StepRecord bases{base->losses, base->skipped};
        arm.stability = judge_stability({arm.losses, arm.skipped}, alone ? nullptr : &bases);
        if (&arm != &*base && arm.spec.differs.empty() && comparison.eval_metric == EvalMetric::accuracy)
            judge_accuracy(accuracies(arm), accuracies(*base), arm.stability);
    }
}

double final_loss(std::span<const double> losses, const std::vector<bool>& skipped) {
    const std::size_t last = std::max<std::size_t>(1, losses.size() / 10);
    double sum = 0.0, taken = 0.0;
    for (std::size_t step = losses.size() - std::min(last, losses.size()); step < losses.size(); ++step) {
        if (skipped[step]) continue;
        sum += losses[step];
        taken += 1.0;
    }
    return sum / taken;
}

}  // namespace switchyard::compare
