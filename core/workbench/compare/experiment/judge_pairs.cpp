// What is said of two arms. See docs/compare.md for the rules in words.
#include <algorithm>
#include <cmath>

#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/holm.h"
#include "core/workbench/bench/measure/ratio_estimate.h"
#include "core/workbench/compare/experiment/judge_arms.h"

namespace switchyard::compare {
namespace {

using bench::SpeedVerdict;

constexpr double confidence = 0.95;

// Milliseconds a sample, by block.
struct Costs {
    std::vector<std::optional<double>> all, good;  // good: without outliers
    std::vector<int> round_of;
};

Costs costs_of(const ArmResult& arm) {
    Costs costs;
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

// Logarithms of the costs that count, by round.
bench::RoundLogs rounds_of(const Costs& costs) {
    bench::RoundLogs rounds;
    int round = -1;
    for (std::size_t block = 0; block < costs.good.size(); ++block) {
        if (!costs.good[block]) continue;
        if (costs.round_of[block] != round) round = costs.round_of[block], rounds.emplace_back();
        rounds.back().push_back(std::log(*costs.good[block]));
    }
    return rounds;
}

double mean_of(const std::vector<std::optional<double>>& costs) {
    double sum = 0.0, count = 0.0;
    for (const auto& cost : costs) {
        if (cost) sum += *cost, count += 1.0;
    }
    return sum / count;
}

std::string times_text(double ratio) { return base::digits(ratio, 3) + " times as fast"; }

std::string p_text(double p) { return base::digits(p, 2); }

// The median says what happens as a rule, the total what it comes to. Where they part by more than what
// counts as the same, that is told, and nothing is concluded from the median that the total contradicts.
void weigh_total(PairResult& pair, double margin) {
    if (!std::isfinite(pair.total_speedup) || !std::isfinite(pair.speedup.median)) return;
    if (std::abs(std::log(pair.total_speedup / pair.speedup.median)) <= std::log1p(margin)) return;
    pair.note = "all blocks together, the seldom slow ones too, are " + times_text(pair.total_speedup) +
                ", the typical one " + times_text(pair.speedup.median);
    const bool against =
        (pair.verdict == SpeedVerdict::same && std::abs(pair.total_speedup - 1.0) > margin) ||
        (pair.verdict == SpeedVerdict::faster && pair.total_speedup < 1.0) ||
        (pair.verdict == SpeedVerdict::slower && pair.total_speedup > 1.0);
    if (!against) return;
    pair.verdict = SpeedVerdict::cannot_tell;
    pair.reason = "the typical block and the total disagree: " + pair.note;
    pair.note.clear();
}

void conclude(PairResult& pair, const bench::RatioEstimate& estimate, std::size_t comparisons,
              double margin) {
    if (estimate.blocks < least_blocks) {
        pair.reason = "at least six blocks are needed; there are " + std::to_string(estimate.blocks);
        return;
    }
    if (!std::isfinite(estimate.ratio.low)) {
        pair.reason = "what was not timed in turns needs two rounds each, then and now";
        return;
    }
    pair.verdict = bench::verdict_of(estimate, pair.p_corrected, margin, confidence);
    if (pair.verdict == SpeedVerdict::cannot_tell && pair.p < 1.0 - confidence)
        pair.reason = "a difference of this size is found by chance too often among " +
                      std::to_string(comparisons) + " comparisons: p " + p_text(pair.p) + " alone, " +
                      p_text(pair.p_corrected) + " corrected";
    weigh_total(pair, margin);
}

}  // namespace

void judge_pairs(Comparison& comparison, double margin) {
    const auto base_at = base_index(comparison);
    std::vector<bench::RatioEstimate> estimates;
    std::vector<double> p;
    for (std::size_t at = base_at + 1; at < comparison.arms.size(); ++at) {
        const auto &base = comparison.arms[base_at], &arm = comparison.arms[at];
        if (!arm.ok()) continue;
        const auto of_base = costs_of(base), of_arm = costs_of(arm);
        const bool apart = !base.measured_before.empty();
        const auto& estimate = estimates.emplace_back(
            apart ? bench::estimate_apart(rounds_of(of_base), rounds_of(of_arm), confidence)
                  : bench::estimate_ratio(bench::log_ratios(of_base.good, of_arm.good, of_base.round_of),
                                          confidence));
        PairResult pair;
        pair.base = base_at;
        pair.arm = at;
        pair.speedup = estimate.ratio;
        pair.p = estimate.p;
        pair.correlation = estimate.correlation;
        pair.blocks = estimate.blocks;
        pair.total_speedup =
            apart ? mean_of(of_base.all) / mean_of(of_arm.all) : bench::total_ratio(of_base.all, of_arm.all);
        if (comparison.margin)
            pair.loss = bench::test_equivalence(base.final_losses, arm.final_losses, *comparison.margin);
        p.push_back(estimate.blocks >= least_blocks ? pair.p : std::nan(""));
        comparison.pairs.push_back(std::move(pair));
    }
    const auto corrected = bench::holm(p);
    const auto comparisons = static_cast<std::size_t>(
        std::count_if(p.begin(), p.end(), [](double one) { return !std::isnan(one); }));
    for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
        auto& pair = comparison.pairs[i];
        pair.p_corrected = std::isnan(corrected[i]) ? pair.p : corrected[i];
        conclude(pair, estimates[i], comparisons, margin);
        const auto& arm = comparison.arms[pair.arm];
        if (const auto far = too_far(arm.drift, arm.allowed); !far.empty()) {
            pair.verdict = SpeedVerdict::wrong;
            pair.reason = far;
        }
    }
}

}  // namespace switchyard::compare
