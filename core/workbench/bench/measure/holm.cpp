#include "core/workbench/bench/measure/holm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace switchyard::bench {

std::vector<double> holm(std::span<const double> p) {
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < p.size(); ++at) {
        if (!std::isnan(p[at])) order.push_back(at);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    std::vector<double> corrected(p.begin(), p.end());
    double least = 0.0;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        least = std::max(least, std::min(1.0, static_cast<double>(order.size() - rank) * p[order[rank]]));
        corrected[order[rank]] = least;
    }
    return corrected;
}

}  // namespace switchyard::bench
