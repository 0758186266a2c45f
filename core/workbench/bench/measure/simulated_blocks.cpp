#include "core/workbench/bench/measure/simulated_blocks.h"

#include <cmath>
#include <numbers>

namespace switchyard::bench {
namespace {

// A series that keeps its mood: an autoregression of first order with a spread of 1.
class Mood {
public:
    Mood(double correlation, PhiloxStream& random)
        : correlation_(correlation), random_(random), at_(standard_normal(random)) {}
    double next() {
        at_ = correlation_ * at_ + std::sqrt(1.0 - correlation_ * correlation_) * standard_normal(random_);
        return at_;
    }

private:
    double correlation_;
    PhiloxStream& random_;
    double at_;
};

}  // namespace

// Box & Muller 1958.
double standard_normal(PhiloxStream& random) {
    return std::sqrt(-2.0 * std::log(1.0 - random.uniform())) *
           std::cos(2.0 * std::numbers::pi * random.uniform());
}

SimulatedBlocks simulate_blocks(const Noise& noise, const SimulatedRun& run, PhiloxStream& random) {
    constexpr double typical_ms = 100.0;
    SimulatedBlocks result;
    Mood of_base(noise.correlation, random), of_arm(noise.correlation, random);
    for (int round = 0; round < run.rounds; ++round) {
        const double base_start = noise.starts * standard_normal(random);
        const double arm_start = noise.starts * standard_normal(random);
        for (int block = 0; block < run.blocks; ++block) {
            result.round_of.push_back(round);
            result.base_ms.push_back(typical_ms * std::exp(base_start + noise.blocks * of_base.next()));
            result.arm_ms.push_back(run.factor * typical_ms *
                                    std::exp(arm_start + noise.blocks * of_arm.next()));
        }
    }
    return result;
}

}  // namespace switchyard::bench
