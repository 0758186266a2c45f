// Which part of a parameter's optimizer state this rank holds (Rajbhandari et al. 2020, "ZeRO", arXiv:1910.02054).
// A component that serves OptimizerRequest::sharded keeps state for [begin, end) of the flattened parameter only and updates only that part.
#pragma once

#include <cstdint>

namespace switchyard {

struct Shard {
    std::int64_t begin = 0;
    std::int64_t end = -1;  // -1: to the end; the default is the whole parameter
    int rank = 0;
    int world_size = 1;
};

}  // namespace switchyard
