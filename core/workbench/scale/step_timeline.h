// One step of data parallel training as a time line: backward makes gradients, buckets of them are summed
// up over the ranks as soon as they are full and while backward goes on, and the optimizer's step comes
// after the last sum (Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel
// Training", arXiv:2006.15704, section 3.2.3). Sums go one after the other, and slow backward down by
// nothing.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/scale/buckets.h"
#include "core/workbench/scale/network.h"

namespace switchyard::scale {

// Of one rank by itself, in milliseconds.
struct StepCosts {
    double forward_ms = 0.0;
    std::vector<double> backward_ms;  // of each parameter's module, in the order of forward
    double optimizer_ms = 0.0;
    // Of parameters, where each rank steps its part of them and hands it to the others; 0: each steps all.
    double gathered_bytes = 0.0;
    // Of all that, what a rank waits for others that have parts of its layers (tensor_sums.h).
    double waits_ms = 0.0;

    double all_ms() const;
};

struct BucketTimes {
    Bucket bucket;
    double full_ms = 0.0;                 // from the step's begin
    double begin_ms = 0.0, end_ms = 0.0;  // of its sum
};

struct StepTimeline {
    std::int64_t ranks = 1;
    double forward_end_ms = 0.0, backward_end_ms = 0.0, step_ms = 0.0;
    std::vector<BucketTimes> buckets;
    double communication_ms = 0.0;  // of all sums
    double exposed_ms = 0.0;        // of them, what lies behind the end of backward
    double gather_ms = 0.0;         // of parameters, behind the optimizer's step
    double waits_ms = 0.0;          // of forward and backward, for parts of layers

    // What all ranks do in a second, of what they did if each were alone.
    double efficiency = 1.0;
    double hidden_share() const;
};

// A share of two times, 0 to 1: what rounding leaves of nothing is nothing.
double share_of_times(double part_ms, double all_ms);

// `wire_share`: of a gradient's bytes, what travels: 0.5 where it is rounded to half as many.
StepTimeline simulate_step(const StepCosts& costs, const std::vector<Bucket>& buckets, std::int64_t ranks,
                           const Collectives& collectives, double wire_share = 1.0);

}  // namespace switchyard::scale
