// Gradients through LibTorch's autograd, for what is made of ATen calls.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::conformance {

// A copy that shares memory and asks for a gradient; undefined stays undefined.
at::Tensor leaf(const at::Tensor& tensor);

// Gradients of sum_i <outputs[i], grad_outputs[i]> for `inputs`: zeros where an input has no influence,
// undefined where the input is.
std::vector<at::Tensor> differentiate(const std::vector<at::Tensor>& outputs,
                                      const std::vector<at::Tensor>& grad_outputs,
                                      const std::vector<at::Tensor>& inputs);

}  // namespace switchyard::conformance
