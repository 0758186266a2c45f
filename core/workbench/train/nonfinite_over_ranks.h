// What is not finite in a step of which ranks have parts, in the words of nonfinite.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/distributed/group.h"
#include "core/workbench/train/nonfinite.h"

namespace switchyard::train {

// Of a gradient that this rank counts, or of a part of it: each value counts on one rank.
struct OwnFinding {
    std::int64_t parameter = 0;  // its number
    std::int64_t bad = 0;        // values
};

// On all ranks, the same on each. `all`: the parameters there are, with nothing bad yet; those that no rank
// has a gradient of are left out.
std::string nonfinite_over_ranks(distributed::Group& ranks, std::vector<GradientFinding> all,
                                 const std::vector<OwnFinding>& own);

}  // namespace switchyard::train
