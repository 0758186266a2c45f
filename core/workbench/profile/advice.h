// What would make a step shorter: other components, by their times beside the chosen ones, and keys of the
// configuration, by what was observed.
//
// No LibTorch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/profile/profile.h"

namespace switchyard::profile {

// What is known of the job beside its profile. Where a change would not be served, or changes nothing, it is
// nothing.
struct JobFacts {
    std::vector<TimedUse> timed;
    std::string narrow_precision;  // the line that multiplies in bfloat16; empty: they are, or cannot be
    std::vector<TimedUse> narrow;  // the components of the plan, timed with that
    std::string packed_layout;   // the line that leaves out padding; empty: there is none
    std::string workers;         // the line that makes batches ahead; empty: they are, or cannot be
    std::string recompute;       // "layers"; empty: nothing runs again
    std::int64_t batch_size = 0;  // 0: it is not what limits a batch
    std::int64_t accumulated = 1;  // batches of a step
};

// At most `most`, what saves most first; what saves less than 1 % is left out.
std::vector<Advice> advise(const Profile& profile, const JobFacts& facts, std::size_t most = 3);

}  // namespace switchyard::profile
