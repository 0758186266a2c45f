#include "core/workbench/bench/measure/change_point.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/kernel/base/mean_ranks.h"
#include "core/workbench/bench/measure/statistics.h"

namespace switchyard::bench {
namespace {

constexpr double surprising = 0.01;
constexpr double least_change = 0.02;
constexpr std::size_t least_after = 4;

double distances(std::span<const double> values) {
    const double centre = median(values);
    return std::accumulate(values.begin(), values.end(), 0.0,
                           [&](double sum, double value) { return sum + std::abs(value - centre); });
}

// Where the medians before and after leave the least distances. Of a long series not every place is tried.
std::size_t best_split(std::span<const double> values) {
    const std::size_t stride = 1 + values.size() / 400;
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = 1; at < values.size(); at += stride) {
        const double left = distances(values.first(at)) + distances(values.subspan(at));
        if (left < least) least = left, best = at;
    }
    return best;
}

}  // namespace

ChangePoint strongest_change(std::span<const double> values) {
    ChangePoint change;
    if (values.size() < 2) return change;
    const double count = static_cast<double>(values.size());
    const auto ranks = base::mean_ranks(values);
    double sum = 0.0, most = 0.0;
    for (std::size_t at = 0; at + 1 < values.size(); ++at) {
        sum += ranks[at];
        most = std::max(most, std::abs(2.0 * sum - static_cast<double>(at + 1) * (count + 1.0)));
    }
    if (most == 0.0) return change;
    change.at = best_split(values);
    if (change.at == 0) return change;
    change.p = std::min(1.0, 2.0 * std::exp(-6.0 * most * most / (count * count * count + count * count)));
    const double after = median(values.subspan(change.at));
    change.ratio = after > 0.0 ? median(values.first(change.at)) / after : 1.0;
    return change;
}

std::size_t steady_from(std::span<const double> values) {
    std::size_t from = 0;
    while (values.size() - from >= 2 * least_after) {
        const auto change = strongest_change(values.subspan(from));
        if (change.p >= surprising || std::abs(change.ratio - 1.0) < least_change) break;
        from += change.at;
    }
    return from > 0 && values.size() - from < least_after ? values.size() : from;
}

}  // namespace switchyard::bench
