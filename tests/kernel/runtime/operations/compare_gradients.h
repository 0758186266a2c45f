// Two ways to compute the same thing, compared in value and in all gradients.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::test {

using Function = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// A float64 leaf with fixed values in about [-1, 1], all different from one `seed` to another.
at::Tensor leaf(at::IntArrayRef sizes, int seed);

struct Difference {
    double outputs = 0.0;
    double gradients = 0.0;
};

// The largest differences between the defined outputs of both, and between the gradients of a fixed weighted
// sum of them. NaN where only one of both has an output or a gradient.
Difference compare(const Function& one, const Function& other, const std::vector<at::Tensor>& inputs);

}  // namespace switchyard::test
