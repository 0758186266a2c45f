// What a network is, from what sums over its ranks took: the latency and the bandwidth with which network.h
// would say the same.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernel/machine/machine_rates.h"

namespace switchyard::scale {

struct TimedSum {
    double bytes = 0.0;  // of each rank
    double ms = 0.0;
};

// The line a + b bytes whose relative errors have the least sum of squares, as a ring of so many ranks. Of
// fewer than two sizes: not known.
machine::Link fitted_link(const std::vector<TimedSum>& sums, std::int64_t ranks);

// GB/s that each link has carried in a sum, whatever the number of ranks: 2 (N - 1) / N of the bytes. (The
// "bus bandwidth" of nccl-tests, doc/PERFORMANCE.md.)
double bus_gbytes_per_second(const TimedSum& sum, std::int64_t ranks);

}  // namespace switchyard::scale
