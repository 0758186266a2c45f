// Which bucketings a table of relative biases (mask.h) can have. A side of T5's (Raffel et al. 2020,
// arXiv:1910.10683, section 2.1) has half of its buckets for one distance each, the other half for distances
// that grow logarithmically up to a largest: so it has two buckets at least, and the largest distance is none
// of the first half's.
#pragma once

#include <cstdint>
#include <string>

namespace switchyard {

// Distances of one side that have a bucket each.
constexpr std::int64_t exact_distances(std::int64_t buckets, bool bidirectional) {
    return (bidirectional ? buckets / 2 : buckets) / 2;
}

// Why there is no such bucketing; "" where there is.
inline std::string fault_of_relative_buckets(std::int64_t buckets, bool bidirectional,
                                             std::int64_t max_distance) {
    const std::int64_t exact = exact_distances(buckets, bidirectional);
    if (exact < 1)
        return "relative_bias has " + std::to_string(buckets) + (buckets == 1 ? " bucket" : " buckets") +
               ": at least " + (bidirectional ? "4 are needed, 2 for the keys on each side" : "2 are needed");
    if (max_distance <= exact)
        return "relative_max_distance is " + std::to_string(max_distance) + ": it must be above " +
               std::to_string(exact) + ", for of " + std::to_string(buckets) +
               " buckets that many are for one distance each";
    return "";
}

}  // namespace switchyard
