// The largest of a row of logits, without sorting the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace switchyard::infer {

inline constexpr float never = -std::numeric_limits<float>::infinity();

// Indices of the `count` largest, largest first, of equal ones the first first. Those of -inf are left out,
// so there may be fewer. There is no NaN among the values.
std::vector<std::int64_t> largest(std::span<const float> values, std::size_t count);

// The index of the largest, of equal ones the first; -1 where all are -inf.
std::int64_t index_of_largest(std::span<const float> values);

}  // namespace switchyard::infer
