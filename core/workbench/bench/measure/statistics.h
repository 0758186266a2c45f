// What is said of a handful of timings: a median, a 95 % interval around it, a ratio of two things timed side
// by side, and a finding.
//
// Why medians: durations have a long right tail (a page fault, another process), which a mean follows and a
// median does not.
//
// Why the bootstrap, and which: the percentile interval of resampled medians (Efron & Tibshirani 1993, "An
// Introduction to the Bootstrap", chapter 13). BCa, often the better one, needs the jackknife, which is
// inconsistent for a median (ibid., section 11.5). A plain percentile interval is too narrow for few samples,
// so its tails are widened as Hesterberg 2015 does ("What Teachers Should Know about the Bootstrap", The
// American Statistician 69:371, the "expanded percentile" interval). Tests check the coverage by simulation.
//
// Why blocks are what is resampled: samples taken one after the other share the machine's mood (clock,
// temperature, neighbours); blocks are the highest level of repetition, the one that carries the variation
// (Kalibera & Jones 2013, "Rigorous Benchmarking in Reasonable Time", ISMM). Within a block the competing
// arms stand side by side, and their ratio is free of what they share.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/base/interval.h"

namespace switchyard::bench {

// A median with its 95 % interval; NaN where there was nothing to measure, and for the bounds of a single
// sample. With fewer than 6 samples the interval is their range and covers less than 95 %: no
// distribution-free interval of a median can do better.
using base::Interval;

struct BootstrapOptions {
    int resamples = 4000;
    double confidence = 0.95;
    std::uint64_t seed = 0;
};

// Of a non-empty sample, in any order; NaN for an empty one.
double median(std::span<const double> values);
// Linear interpolation between order statistics (type 7 of Hyndman & Fan 1996; NumPy's default). 0 <= p <= 1.
double quantile(std::span<const double> values, double p);
// By how much the standard deviation of a normal sample is larger than the median of |x - median|.
inline constexpr double deviations_of_mad = 1.482602218505602;
// Median of |x - median|, times that: the standard deviation, if the sample is a normal one.
double median_absolute_deviation(std::span<const double> values);

// One flag a value: modified z-score |x - median| / deviation above `threshold` (Iglewicz & Hoaglin
// 1993, 3.5). Where more than half of the values are equal, whatever differs is flagged.
std::vector<bool> outliers(std::span<const double> values, double threshold = 3.5);

// Any statistic of n things that are resampled together: it gets n indices in [0, n), with repetition.
using IndexStatistic = std::function<double(std::span<const std::uint32_t>)>;
Interval bootstrap(std::size_t n, const IndexStatistic& statistic, const BootstrapOptions& options = {});

Interval median_interval(std::span<const double> values, const BootstrapOptions& options = {});

// How many times faster `arm` is than `base`, block by block: the median over blocks of base / arm, blocks
// resampled. Blocks where either is missing (an outlier) do not count.
Interval speedup(std::span<const std::optional<double>> base_ms,
                 std::span<const std::optional<double>> arm_ms, const BootstrapOptions& options = {});

// Within which two are the same, as a share.
inline constexpr double same_margin = 0.02;

// What is said of a speedup. `same`: all of its interval is within 1 +- margin. `faster`, `slower`: it
// excludes 1 and is not `same`. `wrong`: what was timed computes something else, which no interval tells.
enum class SpeedVerdict : std::uint8_t { faster, slower, same, cannot_tell, wrong };
SpeedVerdict judge(const Interval& speedup, double margin = same_margin);

}  // namespace switchyard::bench

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 5> names<bench::SpeedVerdict>{"FASTER", "SLOWER", "SAME",
                                                                            "CANNOT_TELL", "WRONG"};
}  // namespace switchyard
