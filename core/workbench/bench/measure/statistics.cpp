#include "core/workbench/bench/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "core/workbench/bench/measure/philox_stream.h"

namespace switchyard::bench {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double median_in_place(std::vector<double>& values) {
    if (values.empty()) return nan;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

// Share of resampled statistics left out on each side. Percentiles of the bootstrap are those of a normal
// whose spread is too small by sqrt((n - 1) / n) and whose tails should be Student's.
double tail(std::size_t n, double confidence) {
    const double nominal = (1.0 - confidence) / 2.0;
    if (n < 2) return nominal;
    const double size = static_cast<double>(n);
    const double t = boost::math::quantile(boost::math::students_t(size - 1.0), nominal);
    return boost::math::cdf(boost::math::normal(), t * std::sqrt(size / (size - 1.0)));
}

}  // namespace

double median(std::span<const double> values) {
    std::vector<double> copy(values.begin(), values.end());
    return median_in_place(copy);
}

double quantile(std::span<const double> values, double p) {
    if (values.empty()) return nan;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double median_absolute_deviation(std::span<const double> values) {
    const double centre = median(values);
    std::vector<double> distances(values.begin(), values.end());
    for (double& value : distances) value = std::abs(value - centre);
    return deviations_of_mad * median_in_place(distances);
}

std::vector<bool> outliers(std::span<const double> values, double threshold) {
    const double centre = median(values);
    const double allowed = threshold * median_absolute_deviation(values);
    std::vector<bool> flags;
    for (const double value : values) flags.push_back(std::abs(value - centre) > allowed);
    return flags;
}

Interval bootstrap(std::size_t n, const IndexStatistic& statistic, const BootstrapOptions& options) {
    if (n == 0) return {nan, nan, nan};
    std::vector<std::uint32_t> indices(n);
    std::iota(indices.begin(), indices.end(), 0U);
    const double observed = statistic(indices);
    if (n == 1) return {observed, nan, nan};

    PhiloxStream random(options.seed, 1);
    std::vector<double> resampled(static_cast<std::size_t>(options.resamples));
    for (double& value : resampled) {
        for (auto& index : indices) index = random.below(static_cast<std::uint32_t>(n));
        value = statistic(indices);
    }
    const double share = tail(n, options.confidence);
    return {observed, quantile(resampled, share), quantile(resampled, 1.0 - share)};
}

Interval median_interval(std::span<const double> values, const BootstrapOptions& options) {
    std::vector<double> drawn(values.size());
    return bootstrap(
        values.size(),
        [&](std::span<const std::uint32_t> indices) {
            drawn.resize(indices.size());
            std::transform(indices.begin(), indices.end(), drawn.begin(),
                           [&](std::uint32_t index) { return values[index]; });
            return median_in_place(drawn);
        },
        options);
}

Interval speedup(std::span<const std::optional<double>> base_ms,
                 std::span<const std::optional<double>> arm_ms, const BootstrapOptions& options) {
    // Logarithms, so that swapping base and arm inverts the result also where a median lies between two
    // blocks.
    std::vector<double> logs;
    for (std::size_t block = 0; block < std::min(base_ms.size(), arm_ms.size()); ++block) {
        if (base_ms[block] && arm_ms[block])
            logs.push_back(std::log(*base_ms[block]) - std::log(*arm_ms[block]));
    }
    const Interval interval = median_interval(logs, options);
    return {std::exp(interval.median), std::exp(interval.low), std::exp(interval.high)};
}

SpeedVerdict judge(const Interval& speedup, double margin) {
    if (speedup.low >= 1.0 - margin && speedup.high <= 1.0 + margin) return SpeedVerdict::same;
    if (speedup.low > 1.0) return SpeedVerdict::faster;
    if (speedup.high < 1.0) return SpeedVerdict::slower;
    return SpeedVerdict::cannot_tell;
}

}  // namespace switchyard::bench
