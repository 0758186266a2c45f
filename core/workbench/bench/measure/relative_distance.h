// How far tensors are from others, as one number.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::bench {

// sqrt(sum (value - base)^2 / sum base^2) in float64 over the pairs of which both are defined; NaN if there
// is none, or nothing in either.
double relative_distance(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& base);

}  // namespace switchyard::bench
