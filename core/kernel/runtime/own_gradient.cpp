#include "core/kernel/runtime/own_gradient.h"

#include <stdexcept>
#include <utility>

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "core/kernel/runtime/graph_node.h"

namespace switchyard::runtime {
namespace {

using torch::autograd::Node;
using torch::autograd::variable_list;

class OwnGradientNode final : public Node {
public:
    OwnGradientNode(const char* name, OneToOne backward, const at::Tensor& x)
        : name_(name), backward_(std::move(backward)) {
        add_next_edge(torch::autograd::impl::gradient_edge(x));
    }
    std::string name() const override { return name_; }

    variable_list apply(variable_list&& gradients) override {
        if (c10::GradMode::is_enabled())
            throw std::runtime_error(std::string(name_) + " has no second derivative");
        if (!gradients[0].defined() || !task_should_compute_output(0)) return {at::Tensor()};
        return {backward_(gradients[0])};
    }

private:
    const char* name_;
    OneToOne backward_;
};

}  // namespace

at::Tensor with_gradient(const char* name, const at::Tensor& x, const OneToOne& forward, OneToOne backward) {
    const bool needed = c10::GradMode::is_enabled() && x.requires_grad();
    at::Tensor y;
    {
        const c10::AutoGradMode no_grad(false);
        y = forward(x).detach();
    }
    if (!needed) return y;
    set_node(y, new_node<OwnGradientNode>(name, std::move(backward), x));
    return y;
}

}  // namespace switchyard::runtime
