// Made-up times of two things that are timed against each other: what statistics are tried on, for which the
// truth must be known.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/bench/measure/philox_stream.h"

namespace switchyard::bench {

// How times vary. All are standard deviations relative to a time.
struct Noise {
    double blocks = 0.02;      // of one block of one arm
    double correlation = 0.0;  // of neighbouring blocks, within a round and from one round to the next
    double starts = 0.0;       // of one start of one arm from another start of it
};

struct SimulatedRun {
    int rounds = 1;
    int blocks = 20;      // of a round
    double factor = 1.0;  // by which the arm's times are longer than the base's
};

// By block, all rounds after each other.
struct SimulatedBlocks {
    std::vector<int> round_of;
    std::vector<double> base_ms, arm_ms;
};

double standard_normal(PhiloxStream& random);

SimulatedBlocks simulate_blocks(const Noise& noise, const SimulatedRun& run, PhiloxStream& random);

}  // namespace switchyard::bench
