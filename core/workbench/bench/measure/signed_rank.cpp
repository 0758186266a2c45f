#include "core/workbench/bench/measure/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace switchyard::bench {
namespace {

// Twice the mean rank of each value in a sorted list: a whole number, ties or not.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& sorted) {
    std::vector<std::size_t> ranks(sorted.size());
    for (std::size_t begin = 0; begin < sorted.size();) {
        std::size_t end = begin + 1;
        while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
        for (std::size_t i = begin; i < end; ++i) ranks[i] = begin + 1 + end;
        begin = end;
    }
    return ranks;
}

}  // namespace

double signed_rank_p(std::span<const double> differences) {
    std::vector<double> values;
    for (const double value : differences) {
        if (std::isfinite(value) && value != 0.0) values.push_back(value);
    }
    if (values.empty()) return 1.0;
    std::sort(values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::vector<double> sizes(values.size());
    std::transform(values.begin(), values.end(), sizes.begin(), [](double value) { return std::abs(value); });
    const auto ranks = doubled_ranks(sizes);

    std::size_t total = 0, positive = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        total += ranks[i];
        if (values[i] > 0.0) positive += ranks[i];
    }
    // Of all choices of signs, the share whose positive ranks sum to each number.
    std::vector<double> share(total + 1, 0.0);
    share[0] = 1.0;
    std::size_t reach = 0;
    for (const std::size_t rank : ranks) {
        reach += rank;
        for (std::size_t sum = reach + 1; sum-- > 0;)
            share[sum] = 0.5 * share[sum] + (sum >= rank ? 0.5 * share[sum - rank] : 0.0);
    }
    double tail = 0.0;
    for (std::size_t sum = 0; sum <= std::min(positive, total - positive); ++sum) tail += share[sum];
    return std::min(1.0, 2.0 * tail);
}

}  // namespace switchyard::bench
