#include "core/kernel/runtime/backward_hook.h"

#include <algorithm>
#include <string>
#include <utility>

#include <c10/core/GradMode.h>

#include "core/kernel/runtime/graph_node.h"

namespace switchyard::runtime {
namespace {

// Nodes that wait run in the order of their numbers, the last made first and those that add up the gradients
// of leaves before all others. So what is made after a part's inputs has run when the node of these does.
class HookNode final : public torch::autograd::Node {
public:
    explicit HookNode(std::function<void()> hook) : hook_(std::move(hook)) {}

    std::string name() const override { return "Switchyard[hook]"; }

    torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override {
        hook_();
        return std::move(grads);
    }

private:
    std::function<void()> hook_;
};

bool needs_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

}  // namespace

std::vector<at::Tensor> with_backward_hook(const std::vector<at::Tensor>& tensors,
                                           std::function<void()> hook) {
    if (!c10::GradMode::is_enabled() || std::ranges::none_of(tensors, needs_gradient)) return tensors;
    const auto node = new_node<HookNode>(std::move(hook));
    std::vector<at::Tensor> followed;
    for (const auto& tensor : tensors) {
        if (!needs_gradient(tensor)) {
            followed.push_back(tensor);
            continue;
        }
        node->add_next_edge(torch::autograd::impl::gradient_edge(tensor));
        auto output = tensor.detach();
        set_node(output, node);
        followed.push_back(std::move(output));
    }
    return followed;
}

}  // namespace switchyard::runtime
