#include "core/workbench/bench/measure/ratio_estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>

#include "core/workbench/bench/measure/serial_correlation.h"

namespace switchyard::bench {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// Standard error of the median of independent values: the bootstrap's, in closed form (Maritz & Jarrett).
double error_of_median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const double count = static_cast<double>(values.size()), half = (count + 1.0) / 2.0;
    double mean = 0.0, squares = 0.0, below = 0.0;
    for (std::size_t at = 0; at < values.size(); ++at) {
        const double to = boost::math::ibeta(half, half, static_cast<double>(at + 1) / count);
        const double from_centre = values[at] - values[values.size() / 2];
        mean += (to - below) * from_centre;
        squares += (to - below) * from_centre * from_centre;
        below = to;
    }
    // The bootstrap's variance is that of a population of these values.
    return std::sqrt(std::max(0.0, squares - mean * mean) * count / (count - 1.0));
}

// By how much the variance of the mean of the rounds is larger than their scatter says, since neighbouring
// rounds are alike too.
double likeness_of_rounds(std::size_t rounds, std::size_t blocks, double correlation) {
    const auto in_a_round = std::max<std::size_t>(1, (blocks + rounds / 2) / rounds);
    const double of_round = 1.0 / effective_count(in_a_round, correlation);
    const double of_all = 1.0 / effective_count(in_a_round * rounds, correlation);
    return std::max(1.0, of_all * static_cast<double>(rounds - 1) / (of_round - of_all));
}

struct Moments {
    double mean = 0.0;
    double variance = 0.0;  // of a value
};

Moments moments(const std::vector<double>& values) {
    Moments found;
    const double count = static_cast<double>(values.size());
    for (const double value : values) found.mean += value / count;
    if (values.size() < 2) return found;
    for (const double value : values)
        found.variance += (value - found.mean) * (value - found.mean) / (count - 1.0);
    return found;
}

// Fills in interval and p of what lies around `centre` with `result.error` and `result.freedom`.
void conclude(RatioEstimate& result, double centre, double confidence) {
    result.ratio = {std::exp(centre), nothing, nothing};
    if (!(result.freedom > 0.0) || !std::isfinite(centre) || !std::isfinite(result.error)) return;
    if (result.error <= 0.0) {
        // Medians that are all alike: nothing scatters, as with a clock that is too coarse.
        result.ratio = {std::exp(centre), std::exp(centre), std::exp(centre)};
        result.p = centre == 0.0 ? 1.0 : 0.0;
        return;
    }
    const boost::math::students_t student(result.freedom);
    const double reach =
        result.error * boost::math::quantile(boost::math::complement(student, (1.0 - confidence) / 2.0));
    result.ratio.low = std::exp(centre - reach);
    result.ratio.high = std::exp(centre + reach);
    result.p = 2.0 * boost::math::cdf(boost::math::complement(student, std::abs(centre) / result.error));
}

std::vector<double> medians_of(const RoundLogs& rounds) {
    std::vector<double> list;
    for (const auto& round : rounds) {
        if (!round.empty()) list.push_back(median(round));
    }
    return list;
}

}  // namespace

RoundLogs log_ratios(std::span<const std::optional<double>> base_ms,
                     std::span<const std::optional<double>> arm_ms, std::span<const int> round_of) {
    RoundLogs rounds;
    for (std::size_t block = 0; block < std::min({base_ms.size(), arm_ms.size(), round_of.size()}); ++block) {
        if (!base_ms[block] || !arm_ms[block]) continue;
        if (rounds.size() <= static_cast<std::size_t>(round_of[block]))
            rounds.resize(static_cast<std::size_t>(round_of[block]) + 1);
        rounds[static_cast<std::size_t>(round_of[block])].push_back(std::log(*base_ms[block]) -
                                                                    std::log(*arm_ms[block]));
    }
    std::erase_if(rounds, [](const auto& round) { return round.empty(); });
    return rounds;
}

RatioEstimate estimate_ratio(const RoundLogs& rounds, double confidence) {
    const auto centres = medians_of(rounds);
    std::vector<double> all;
    for (const auto& round : rounds) all.insert(all.end(), round.begin(), round.end());
    RatioEstimate result;
    result.blocks = static_cast<int>(all.size());
    result.rounds = static_cast<int>(centres.size());
    if (all.empty()) {
        result.ratio = {nothing, nothing, nothing};
        return result;
    }
    const auto [mean, variance] = moments(centres);
    if (centres.size() > 1) {
        const bool long_enough =
            std::any_of(rounds.begin(), rounds.end(), [](const auto& round) { return round.size() > 2; });
        result.correlation = long_enough ? lag_one_within(rounds) : lag_one_correlation(all);
        result.freedom = static_cast<double>(centres.size()) - 1.0;
        result.error = std::sqrt(variance / static_cast<double>(centres.size()) *
                                 likeness_of_rounds(centres.size(), all.size(), result.correlation));
    } else if (all.size() > 1) {
        result.correlation = lag_one_correlation(all);
        const double worth = effective_count(all.size(), result.correlation);
        result.freedom = std::max(1.0, worth - 1.0);
        result.error = error_of_median(all) * std::sqrt(static_cast<double>(all.size()) / worth);
    }
    conclude(result, mean, confidence);
    return result;
}

RatioEstimate estimate_apart(const RoundLogs& base, const RoundLogs& arm, double confidence) {
    RatioEstimate result;
    for (const auto& round : arm) result.blocks += static_cast<int>(round.size());
    const auto bases = medians_of(base), arms = medians_of(arm);
    result.rounds = static_cast<int>(std::min(bases.size(), arms.size()));
    if (bases.empty() || arms.empty()) {
        result.ratio = {nothing, nothing, nothing};
        return result;
    }
    const auto of_base = moments(bases), of_arm = moments(arms);
    if (bases.size() > 1 && arms.size() > 1) {
        const double rounds_of_base = static_cast<double>(bases.size()),
                     rounds_of_arm = static_cast<double>(arms.size());
        const double one = of_base.variance / rounds_of_base, other = of_arm.variance / rounds_of_arm;
        result.error = std::sqrt(one + other);
        const double weight = one * one / (rounds_of_base - 1.0) + other * other / (rounds_of_arm - 1.0);
        result.freedom = weight > 0.0 ? (one + other) * (one + other) / weight : 1.0;
    }
    conclude(result, of_base.mean - of_arm.mean, confidence);
    return result;
}

SpeedVerdict verdict_of(const RatioEstimate& estimate, double p, double margin, double confidence) {
    if (estimate.ratio.low >= 1.0 - margin && estimate.ratio.high <= 1.0 + margin) return SpeedVerdict::same;
    if (!(p < 1.0 - confidence)) return SpeedVerdict::cannot_tell;
    return estimate.ratio.median > 1.0 ? SpeedVerdict::faster : SpeedVerdict::slower;
}

double total_ratio(std::span<const std::optional<double>> base_ms,
                   std::span<const std::optional<double>> arm_ms) {
    double of_base = 0.0, of_arm = 0.0;
    for (std::size_t block = 0; block < std::min(base_ms.size(), arm_ms.size()); ++block) {
        if (base_ms[block] && arm_ms[block]) of_base += *base_ms[block], of_arm += *arm_ms[block];
    }
    return of_arm > 0.0 ? of_base / of_arm : nothing;
}

}  // namespace switchyard::bench
