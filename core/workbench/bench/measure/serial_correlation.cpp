#include "core/workbench/bench/measure/serial_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workbench/bench/measure/statistics.h"

namespace switchyard::bench {
namespace {

// `reach` deviations around the median, and what is further drawn in.
std::vector<double> drawn_in(std::span<const double> values, double centre, double reach) {
    std::vector<double> list;
    for (const double value : values) list.push_back(std::clamp(value, centre - reach, centre + reach));
    return list;
}

// Sum of squared differences of values `lag` apart, and their number.
struct Variogram {
    double sum = 0.0;
    std::size_t pairs = 0;

    void add(const std::vector<double>& values, std::size_t lag) {
        for (std::size_t at = lag; at < values.size(); ++at) {
            const double apart = values[at] - values[at - lag];
            sum += apart * apart;
            ++pairs;
        }
    }
    double mean() const { return sum / static_cast<double>(pairs); }
};

}  // namespace

double lag_one_correlation(std::span<const double> series) {
    if (series.size() < 6) return 0.0;
    const double count = static_cast<double>(series.size());
    const auto values = drawn_in(series, median(series), 3.0 * median_absolute_deviation(series));
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double all = 0.0, neighbours = 0.0;
    for (std::size_t at = 0; at < values.size(); ++at) {
        all += (values[at] - mean) * (values[at] - mean);
        if (at > 0) neighbours += (values[at] - mean) * (values[at - 1] - mean);
    }
    if (all <= 0.0) return 0.0;
    const double corrected = (neighbours / all + 1.0 / count) / (1.0 - 4.0 / count);
    return std::clamp(corrected, 0.0, most_correlation);
}

double lag_one_within(std::span<const std::vector<double>> rounds) {
    std::vector<double> apart;
    for (const auto& round : rounds) {
        const double centre = median(round);
        for (const double value : round) apart.push_back(std::abs(value - centre));
    }
    const double reach = 4.0 * deviations_of_mad * median(apart);
    Variogram one, two;
    for (const auto& round : rounds) {
        const auto values = drawn_in(round, median(round), reach);
        one.add(values, 1);
        two.add(values, 2);
    }
    if (two.pairs == 0 || one.sum <= 0.0) return 0.0;
    return std::clamp(two.mean() / one.mean() - 1.0, 0.0, 0.9);
}

double effective_count(std::size_t count, double correlation) {
    double sum = 1.0, power = 1.0;
    for (std::size_t lag = 1; lag < count; ++lag) {
        power *= correlation;
        sum += 2.0 * (1.0 - static_cast<double>(lag) / static_cast<double>(count)) * power;
    }
    return static_cast<double>(count) / sum;
}

}  // namespace switchyard::bench
