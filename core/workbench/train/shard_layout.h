// Which rank keeps the optimizer's state of which values. Parameters lie end to end and are cut into as many
// stretches of equal length as there are ranks, so that at most one parameter is cut for each rank; where
// parameters cannot be cut, each goes to the rank that has the least, the largest first.
#pragma once

#include <cstdint>
#include <vector>

namespace switchyard::train {

// Values [begin, begin + count) of a parameter, in the order of memory.
struct Shard {
    std::size_t parameter = 0;
    std::int64_t begin = 0, count = 0;
    std::int64_t rank = 0;
    bool operator==(const Shard&) const = default;
};

// Of parameters of so many values, in their order; those of one parameter in the order of memory.
// `alignment`: values that each begins at a multiple of; 0: parameters are not cut. A rank may get
// nothing.
std::vector<Shard> divide_over_ranks(const std::vector<std::int64_t>& sizes, std::int64_t ranks,
                                     std::int64_t alignment);

}  // namespace switchyard::train
