#include "core/kernel/base/mean_ranks.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace switchyard::base {

std::vector<double> mean_ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
        const double rank = static_cast<double>(begin + end + 1) / 2.0;
        for (auto i = begin; i < end; ++i) ranks[order[i]] = rank;
    }
    return ranks;
}

}  // namespace switchyard::base
