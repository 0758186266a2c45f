#include "core/workbench/bench/measure/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/kernel/base/mean_ranks.h"

namespace switchyard::bench {

double signed_rank_p(std::span<const double> differences) {
    std::vector<double> values;
    for (const double value : differences) {
        if (std::isfinite(value) && value != 0.0) values.push_back(value);
    }
    if (values.empty()) return 1.0;
    std::sort(values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::vector<double> sizes(values.size());
    std::transform(values.begin(), values.end(), sizes.begin(), [](double value) { return std::abs(value); });
    std::vector<std::size_t> ranks;  // twice each: a whole number, ties or not
    for (const double rank : base::mean_ranks(sizes)) ranks.push_back(static_cast<std::size_t>(2.0 * rank));

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
