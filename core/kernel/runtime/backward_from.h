// Backward from several tensors at once, whose gradients somebody else made.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::runtime {

// Adds to the gradients of the leaves behind `made`, each of which has a gradient in `gradients`. What needs
// none is left out.
void backward_from(const std::vector<at::Tensor>& made, const std::vector<at::Tensor>& gradients);

}  // namespace switchyard::runtime
