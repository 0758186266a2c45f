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

std::vector<at::Tensor> gradients_from(const std::vector<at::Tensor>& made,
                                       const std::vector<at::Tensor>& gradients,
                                       const std::vector<at::Tensor>& of, bool keep_graph) {
    torch::autograd::variable_list roots, theirs;
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (!made[i].defined() || !made[i].requires_grad() || !gradients[i].defined()) continue;
        roots.push_back(made[i]);
        theirs.push_back(gradients[i]);
    }
    if (roots.empty() || of.empty()) return std::vector<at::Tensor>(of.size());
    return torch::autograd::grad(roots, of, theirs, keep_graph, false, /*allow_unused=*/true);
}

}  // namespace switchyard::runtime
