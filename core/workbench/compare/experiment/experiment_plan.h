// How many rounds, blocks and steps a comparison has: decided from how long things take, never from what the
// blocks say.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/compare/experiment/experiment.h"

namespace switchyard::compare {

// Fewer rounds than these do not show how starts of an arm differ: Student's distribution of four freedoms is
// already half again as wide as the normal one.
inline constexpr int least_rounds = 5;
inline constexpr int most_rounds = 10;
// With as many Student's distribution is nearly the normal one.
inline constexpr int most_rounds_in_the_end = 20;

struct Measured {
    std::vector<double> step_ms;  // by arm that works, by the coordinator's clock
    double used_ms = 0.0;         // of the time that is allowed
    double restart_ms = 0.0;  // that it takes to start all arms anew, until they are warm; 0: they cannot be
};

struct ExperimentPlan {
    std::int64_t steps_per_block = 0;  // that are timed
    std::int64_t lead_in = 0;          // before them
    int rounds = 1;
    int blocks = 0;         // of all rounds together
    double block_ms = 0.0;  // that one is expected to take

    // Blocks of one round, from 0: they are spread evenly.
    int blocks_in(int round) const { return blocks * (round + 1) / rounds - blocks * round / rounds; }
};

// How many times as long blocks of `block_ms` have to be for no more than about `most` to fit; at least 1.
std::int64_t times_longer(double left_ms, double block_ms, int most);

ExperimentPlan plan_experiment(const ExperimentSettings& settings, const Measured& measured);

// The first start takes longer than others: it reads what nobody has read yet, and tells of its first step.
// Adds the rounds, of as many blocks each, that there is time for by what the second took, `used_ms` being
// over; none where their number or that of blocks was asked for.
void add_rounds(ExperimentPlan& plan, const ExperimentSettings& settings, double used_ms, double restart_ms);

}  // namespace switchyard::compare
