// One query against keys and values that are read once, in the order in which they lie: bound by memory, if
// what comes is asked for early enough.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace switchyard::flash {

template <class Storage>
struct StreamKernels {
    // out[j] = <q, row j>, n rows of d numbers with `stride` between them.
    void (*dots)(const float* q, const Storage* rows, std::int64_t stride, std::int64_t n, std::int64_t d,
                 float* out);
    // out[c] = sum of weights[j] * row j [c], d columns.
    void (*weighted_sum)(const float* weights, const Storage* rows, std::int64_t stride, std::int64_t n,
                         std::int64_t d, float* out);
    // Asks for the first rows of what is read next.
    void (*expect)(const Storage* rows, std::int64_t stride, std::int64_t d);
};

// Storage: float, c10::BFloat16 or c10::Half.
template <class Storage>
const StreamKernels<Storage>& stream_kernels();

}  // namespace switchyard::flash
