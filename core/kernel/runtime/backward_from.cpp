#include "core/kernel/runtime/backward_from.h"

#include <torch/csrc/autograd/autograd.h>

namespace switchyard::runtime {

void backward_from(const std::vector<at::Tensor>& made, const std::vector<at::Tensor>& gradients) {
    torch::autograd::variable_list roots, theirs;
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (!made[i].requires_grad()) continue;
        roots.push_back(made[i]);
        theirs.push_back(gradients[i]);
    }
    if (!roots.empty()) torch::autograd::backward(roots, theirs);
}

}  // namespace switchyard::runtime
