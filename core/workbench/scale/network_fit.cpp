#include "core/workbench/scale/network_fit.h"

#include <set>

namespace switchyard::scale {
namespace {

struct Line {
    double at_zero = 0.0, slope = 0.0;
};

// With weights 1 / ms^2, so that what is left over counts by its share.
Line fitted_line(const std::vector<TimedSum>& sums) {
    double w = 0.0, wx = 0.0, wy = 0.0, wxx = 0.0, wxy = 0.0;
    for (const auto& sum : sums) {
        const double weight = 1.0 / (sum.ms * sum.ms);
        w += weight;
        wx += weight * sum.bytes;
        wy += weight * sum.ms;
        wxx += weight * sum.bytes * sum.bytes;
        wxy += weight * sum.bytes * sum.ms;
    }
    Line line;
    line.slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    line.at_zero = (wy - line.slope * wx) / w;
    if (line.at_zero < 0.0) line = {0.0, wxy / wxx};  // the best one without a latency
    return line;
}

}  // namespace

machine::Link fitted_link(const std::vector<TimedSum>& sums, std::int64_t ranks) {
    std::set<double> sizes;
    for (const auto& sum : sums) sizes.insert(sum.bytes);
    if (sizes.size() < 2 || ranks < 2) return {};
    const auto line = fitted_line(sums);
    if (!(line.slope > 0.0)) return {};
    const auto count = static_cast<double>(ranks), messages = 2.0 * (count - 1.0);
    return {messages / count / line.slope / 1e6, line.at_zero / messages * 1e3};
}

double bus_gbytes_per_second(const TimedSum& sum, std::int64_t ranks) {
    const auto count = static_cast<double>(ranks);
    return 2.0 * (count - 1.0) / count * sum.bytes / sum.ms / 1e6;
}

}  // namespace switchyard::scale
