// Where a series of times stops warming up.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <span>

namespace switchyard::bench {

struct ChangePoint {
    std::size_t at = 0;  // the first value after it
    double p = 1.0;      // of "there is none"
    double ratio = 1.0;  // of the medians before and after
};

// How surprising it is how much values before and after some place differ by rank (Pettitt 1979, "A
// Non-Parametric Approach to the Change-Point Problem", Applied Statistics 28:126, with his approximation of
// p). The place is where the medians before and after leave the least distances; Pettitt's own lies too far
// to the middle.
ChangePoint strongest_change(std::span<const double> values);

// The first value of what follows the last change: changes are looked for in what is left after the last one
// found, until there is none of p below 0.01 by 2 % or more. 0: steady from the first on. A series that ends
// in a change, with fewer than four values after it, is not steady: then the number of values.
std::size_t steady_from(std::span<const double> values);

}  // namespace switchyard::bench
