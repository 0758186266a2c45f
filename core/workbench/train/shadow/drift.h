// How far the tensors of one component are from those of another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::train {

struct TensorPair {
    const char* name;  // "out", "weight"
    at::Tensor trusted, candidate;
};

// Relative to the root mean square of the trusted tensor. A tensor of which next to nothing is there - less
// than the resolution of its dtype beside the largest of the call - is rounding, and is measured by that.
struct Drift {
    double mean = 0.0;     // root mean square of the differences, of the tensor where that is largest
    double largest = 0.0;  // one difference
    std::string tensor;    // in which that is
    // What makes it no drift: "gave 3 NaN of 4096 values in out". Then the tensor is left out of the numbers.
    std::string fault;
};

// Values that are not finite on the trusted side are not compared. An undefined tensor stands for zeros where
// the other one is defined. `what` goes before a tensor's name in faults: "", "the gradient of ".
Drift drift_of(const std::vector<TensorPair>& pairs, std::string_view what);

}  // namespace switchyard::train
