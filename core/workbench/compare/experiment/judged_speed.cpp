#include "core/workbench/compare/experiment/judged_speed.h"

#include <algorithm>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/holm.h"

namespace switchyard::compare {
namespace {

using bench::SpeedVerdict;

constexpr double confidence = 0.95;

double mean_of(const std::vector<std::optional<double>>& costs) {
    double sum = 0.0, count = 0.0;
    for (const auto& cost : costs) {
        if (cost) sum += *cost, count += 1.0;
    }
    return sum / count;
}

std::string times_text(double ratio) { return base::digits(ratio, 3) + " times as fast"; }

std::string p_text(double p) { return base::digits(p, 2); }

bool part(const JudgedSpeed& judged, double ratio, double margin) {
    return std::abs(std::log(ratio / judged.speedup.median)) > std::log1p(margin);
}

bool contradicts(const JudgedSpeed& judged, double ratio, double margin) {
    return (judged.verdict == SpeedVerdict::same && std::abs(ratio - 1.0) > margin) ||
           (judged.verdict == SpeedVerdict::faster && ratio < 1.0) ||
           (judged.verdict == SpeedVerdict::slower && ratio > 1.0);
}

void take_back(JudgedSpeed& judged, const std::string& why) {
    judged.verdict = SpeedVerdict::cannot_tell;
    judged.reason = why;
    judged.note.clear();
}

// The median says what happens as a rule, the total what it comes to. Where they part by more than what
// counts as the same, that is told, and nothing is concluded from the median that the total contradicts.
void weigh_total(JudgedSpeed& judged, double margin) {
    if (!std::isfinite(judged.total_speedup) || !std::isfinite(judged.speedup.median)) return;
    if (!part(judged, judged.total_speedup, margin)) return;
    judged.note = "all blocks together, the seldom slow ones too, are " + times_text(judged.total_speedup) +
                  ", the typical one " + times_text(judged.speedup.median);
    if (contradicts(judged, judged.total_speedup, margin))
        take_back(judged, "the typical block and the total disagree: " + judged.note);
}

void conclude_one(JudgedSpeed& judged, const bench::RatioEstimate& estimate, std::size_t comparisons,
                  double margin) {
    if (estimate.blocks < least_blocks) {
        judged.reason = "at least six blocks are needed; there are " + std::to_string(estimate.blocks);
        return;
    }
    if (!std::isfinite(estimate.ratio.low)) {
        judged.reason = "what was not timed in turns needs two rounds each, then and now";
        return;
    }
    judged.verdict = bench::verdict_of(estimate, judged.p_corrected, margin, confidence);
    if (judged.verdict == SpeedVerdict::cannot_tell && judged.p < 1.0 - confidence)
        judged.reason = "a difference of this size is found by chance too often among " +
                        std::to_string(comparisons) + " comparisons: p " + p_text(judged.p) + " alone, " +
                        p_text(judged.p_corrected) + " corrected";
    weigh_total(judged, margin);
}

}  // namespace

bench::RoundLogs rounds_of(const BlockCosts& costs) {
    bench::RoundLogs rounds;
    int round = -1;
    for (std::size_t block = 0; block < costs.good.size(); ++block) {
        if (!costs.good[block]) continue;
        if (costs.round_of[block] != round) round = costs.round_of[block], rounds.emplace_back();
        rounds.back().push_back(std::log(*costs.good[block]));
    }
    return rounds;
}

bench::RatioEstimate estimate(const BlockCosts& base, const BlockCosts& arm, bool apart) {
    if (apart) return bench::estimate_apart(rounds_of(base), rounds_of(arm), confidence);
    return bench::estimate_ratio(bench::log_ratios(base.good, arm.good, base.round_of), confidence);
}

JudgedSpeed judged_alone(const bench::RatioEstimate& estimate, const BlockCosts& base, const BlockCosts& arm,
                         bool apart) {
    JudgedSpeed judged;
    judged.speedup = estimate.ratio;
    judged.p = estimate.p;
    judged.p_corrected = estimate.p;
    judged.correlation = estimate.correlation;
    judged.blocks = estimate.blocks;
    judged.total_speedup =
        apart ? mean_of(base.all) / mean_of(arm.all) : bench::total_ratio(base.all, arm.all);
    return judged;
}

void conclude(const std::vector<Concluded>& comparisons, double margin) {
    std::vector<double> p;
    for (const auto& [judged, estimate] : comparisons)
        p.push_back(estimate.blocks >= least_blocks ? judged->p : std::nan(""));
    const auto corrected = bench::holm(p);
    const auto count = static_cast<std::size_t>(
        std::count_if(p.begin(), p.end(), [](double one) { return !std::isnan(one); }));
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
        const auto& [judged, estimate] = comparisons[i];
        if (!std::isnan(corrected[i])) judged->p_corrected = corrected[i];
        conclude_one(*judged, estimate, count, margin);
    }
}

// That the typical block is faster and the median is not: that is told of however small a difference.
void weigh_medians(JudgedSpeed& judged, double ratio, double margin) {
    if (!std::isfinite(ratio) || !std::isfinite(judged.speedup.median)) return;
    const bool parted = part(judged, ratio, margin);
    const bool against =
        contradicts(judged, ratio, margin) && (parted || judged.verdict != SpeedVerdict::same);
    if (!parted && !against) return;
    const auto text = "by the medians it is " + times_text(ratio) + ", by the typical block " +
                      times_text(judged.speedup.median);
    if (against)
        take_back(judged, "the typical block and the medians disagree: " + text);
    else if (judged.reason.empty())
        base::add_item(judged.note, text, "; ");
}

}  // namespace switchyard::compare
