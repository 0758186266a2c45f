// What is said of how fast one arm is beside another, from what each block cost: of whole steps
// (judge_pairs.cpp) and of inference (inference_summary.cpp). See docs/compare.md for the rules in words.
//
// No LibTorch here.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/bench/measure/ratio_estimate.h"
#include "core/workbench/bench/measure/statistics.h"

namespace switchyard::compare {

// Fewer blocks conclude nothing.
inline constexpr int least_blocks = 6;

// Times of one arm, by block, for the same work. Nothing: the block does not count.
struct BlockCosts {
    std::vector<std::optional<double>> all, good;  // good: without outliers
    std::vector<int> round_of;
};

struct JudgedSpeed {
    base::Interval speedup;  // how many times as fast as the base
    bench::SpeedVerdict verdict = bench::SpeedVerdict::cannot_tell;
    double p = 1.0;            // of "as fast as each other": the test whose interval `speedup` is
    double p_corrected = 1.0;  // of all comparisons of the experiment, by Holm: this one decides
    // Of the work of all blocks together, what happens seldom and what counts as an outlier included.
    double total_speedup = std::numeric_limits<double>::quiet_NaN();
    double correlation = 0.0;  // of neighbouring blocks
    int blocks = 0;            // that count in both arms
    std::string reason;        // of WRONG, and of what cannot be told
    std::string note;          // what has to be told beside the verdict
};

// Logarithms of the costs that count, by round.
bench::RoundLogs rounds_of(const BlockCosts& costs);

// `apart`: they were not timed in turns (a baseline that was measured before). No verdict yet: that needs all
// comparisons of the experiment.
bench::RatioEstimate estimate(const BlockCosts& base, const BlockCosts& arm, bool apart = false);

// What an estimate says before all comparisons are known.
JudgedSpeed judged_alone(const bench::RatioEstimate& estimate, const BlockCosts& base, const BlockCosts& arm,
                         bool apart = false);

// One comparison of an experiment, and what it was judged from.
struct Concluded {
    JudgedSpeed* judged;
    bench::RatioEstimate estimate;
};

// Verdicts of all comparisons of one experiment. `margin`: within which two are the SAME.
void conclude(const std::vector<Concluded>& comparisons, double margin);

// After that: holds a verdict against `ratio`, that of the medians which are shown beside it. Where they
// contradict it nothing is concluded; where they part by more than `margin` that is told.
void weigh_medians(JudgedSpeed& judged, double ratio, double margin);

}  // namespace switchyard::compare
