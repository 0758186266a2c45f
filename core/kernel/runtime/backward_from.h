// Backward from several tensors at once, whose gradients somebody else made.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::runtime {

// Adds to the gradients of the leaves behind `made`, each of which has a gradient in `gradients`. What needs
// none is left out.
void backward_from(const std::vector<at::Tensor>& made, const std::vector<at::Tensor>& gradients);

// The gradients of `of`, undefined where nothing of `made` depends on one; leaves keep theirs. The graph is
// kept where it is wanted once more. Undefined `gradients`, and what has none, are left out.
std::vector<at::Tensor> gradients_from(const std::vector<at::Tensor>& made,
                                       const std::vector<at::Tensor>& gradients,
                                       const std::vector<at::Tensor>& of, bool keep_graph);

}  // namespace switchyard::runtime
