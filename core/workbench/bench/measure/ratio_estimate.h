// How many times as fast one thing is as another, from blocks in rounds, with an interval that holds what
// really varies.
//
// A round is one start of both competitors, a block one turn of each. What varies has two levels: blocks of a
// round scatter, and keep their mood for a while; and each start of the same program is a little faster or
// slower than another (layout in memory, huge pages, what the allocator met), which no number of blocks of
// one start averages out. So rounds are the level at which the experiment is repeated, and the interval is
// that of their mean: Student's, of the medians of the rounds (Kalibera & Jones 2013, "Rigorous Benchmarking
// in Reasonable Time", section 9, for the mean of the highest level; Ibragimov & Mueller 2010, "t-Statistic
// Based Correlation and Heterogeneity Robust Inference", Journal of Business & Economic Statistics 28:453,
// why it stays valid when rounds scatter unequally and whatever correlation there is within them). It is not
// resampled: of five or ten rounds a bootstrap only knows their range, and is too narrow.
//
// Rounds follow each other on one machine, so what lasts longer than a block also makes neighbouring rounds
// alike. The variance between rounds is therefore multiplied by how much too small it is for a first-order
// autoregression of the correlation found within the rounds (serial_correlation.h).
//
// Of a single round nothing is known about starts. Then the error of the median of its blocks (Maritz &
// Jarrett 1978, "A Note on Estimating the Variance of the Sample Median", Journal of the American Statistical
// Association 73:194) is widened to the number of independent blocks that theirs are worth, and Student's
// distribution has one freedom fewer than that number.
//
// The interval and p are of the same test: the interval excludes 1 exactly where p is below 1 - confidence.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/workbench/bench/measure/statistics.h"

namespace switchyard::bench {

struct RatioEstimate {
    Interval ratio;            // `median`: the mean over rounds of the medians of their blocks, as a ratio
    double p = 1.0;            // two-sided, of "as fast as each other"
    int blocks = 0;            // that count
    int rounds = 0;            // that have any
    double correlation = 0.0;  // of neighbouring blocks
    double error = std::numeric_limits<double>::quiet_NaN();  // standard error of the ratio's logarithm
    double freedom = 0.0;                                     // of Student's distribution
};

// Logarithms of the ratios of the blocks of each round, in the order in which they were measured.
using RoundLogs = std::vector<std::vector<double>>;

// `round_of`: of each block, from 0, in increasing order. Blocks where either time is missing do not count.
RoundLogs log_ratios(std::span<const std::optional<double>> base_ms,
                     std::span<const std::optional<double>> arm_ms, std::span<const int> round_of);

RatioEstimate estimate_ratio(const RoundLogs& rounds, double confidence = 0.95);

// The same of two things that were not timed in turns, each with rounds of its own: logarithms of times.
// Blocks cannot be paired, so the medians of the rounds are compared (Welch 1947). NaN bounds where one has
// one round.
RatioEstimate estimate_apart(const RoundLogs& base, const RoundLogs& arm, double confidence = 0.95);

// `p`: of the estimate, corrected for how many comparisons there are. `same`: all of the interval is within
// 1 +- margin; `faster`, `slower`: p below 1 - confidence. Never against that p.
SpeedVerdict verdict_of(const RatioEstimate& estimate, double p, double margin = 0.02,
                        double confidence = 0.95);

// Work done by each in all blocks that both have, one sum over the other: what happens seldom counts here,
// and not in a median. NaN where there is no such block.
double total_ratio(std::span<const std::optional<double>> base_ms,
                   std::span<const std::optional<double>> arm_ms);

}  // namespace switchyard::bench
