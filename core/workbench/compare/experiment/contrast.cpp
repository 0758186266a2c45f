#include "core/workbench/compare/experiment/contrast.h"

#include <cmath>

namespace switchyard::compare {

bench::RatioEstimate contrast(const Comparison& comparison, const ArmWeights& weights) {
    bench::RoundLogs rounds;
    int round = -1;
    for (std::size_t block = 0;; ++block) {
        double sum = 0.0;
        bool counts = true;
        int of_round = round;
        for (const auto& [at, weight] : weights) {
            const auto& blocks = comparison.arms[at].blocks;
            if (block >= blocks.size()) return bench::estimate_ratio(rounds);
            const auto& one = blocks[block];
            counts = counts && one && !one->repeated && !one->sample.outlier;
            if (!counts) continue;
            of_round = one->round;
            sum -= weight * std::log(one->sample_ms());
        }
        if (!counts) continue;
        if (of_round != round) round = of_round, rounds.emplace_back();
        rounds.back().push_back(sum);
    }
}

}  // namespace switchyard::compare
