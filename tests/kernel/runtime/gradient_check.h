// Gradients against central differences in float64.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::test {

// The largest difference between the gradients that autograd gives for sum(weights * function(inputs)), with
// fixed random weights, and central differences, over all inputs that require a gradient. Inputs are
// contiguous float64.
double gradient_error(const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
                      const std::vector<at::Tensor>& inputs);

}  // namespace switchyard::test
