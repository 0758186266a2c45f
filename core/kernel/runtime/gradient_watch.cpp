#include "core/kernel/runtime/gradient_watch.h"

#include <string>
#include <utility>

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/graph_node.h"

namespace switchyard::runtime {

using torch::autograd::Node;
using torch::autograd::variable_list;

// What both nodes of a call know.
struct GradientWatch::Seen {
    std::shared_ptr<const BindingBase> binding;
    const Signature& signature;
    std::string place;
    std::vector<ObservedTensor> gradients;  // of the outputs, in the backward that is running
};

class GradientWatch::OutputNode final : public Node {
public:
    explicit OutputNode(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
    std::string name() const override { return "Switchyard[observed outputs]"; }

    void add(const at::Tensor& output, const char* name) {
        add_next_edge(torch::autograd::impl::gradient_edge(output));
        names_.push_back(name);
    }
    variable_list apply(variable_list&& grads) override {
        seen_->gradients.clear();
        for (std::size_t i = 0; i < grads.size(); ++i) {
            if (grads[i].defined()) seen_->gradients.push_back({names_[i], grads[i].detach()});
        }
        return std::move(grads);
    }

private:
    std::shared_ptr<Seen> seen_;
    std::vector<const char*> names_;
};

class GradientWatch::InputNode final : public Node {
public:
    explicit InputNode(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
    std::string name() const override { return "Switchyard[observed inputs]"; }

    void add(const at::Tensor& input, const char* name) {
        add_next_edge(torch::autograd::impl::gradient_edge(input));
        names_.push_back(name);
    }
    variable_list apply(variable_list&& grads) override {
        ObservedCall call{
            *seen_->binding, seen_->signature.backward, seen_->place, Pass::backward, false, {}, {}};
        call.inputs = std::exchange(seen_->gradients, {});
        for (std::size_t i = 0; i < grads.size(); ++i) {
            if (grads[i].defined()) call.outputs.push_back({names_[i], grads[i].detach()});
        }
        tell_observer(call);
        return std::move(grads);
    }

private:
    std::shared_ptr<Seen> seen_;
    std::vector<const char*> names_;
};

namespace {

at::Tensor alias(const at::Tensor& tensor, const NodePtr& node) {
    auto result = tensor.detach();
    set_node(result, node);
    return result;
}

}  // namespace

GradientWatch::GradientWatch(const std::shared_ptr<const BindingBase>& binding, const Signature& signature,
                             std::span<const at::Tensor* const> inputs) {
    if (call_observer() == nullptr || binding->gradient() != GradientMode::differentiable ||
        !c10::GradMode::is_enabled())
        return;
    bool needed = false;
    for (const auto* input : inputs) needed = needed || (input->defined() && input->requires_grad());
    if (!needed) return;
    seen_ = std::make_shared<Seen>(Seen{binding, signature, std::string(current_place()), {}});
    const auto node = new_node<InputNode>(seen_);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& input = *inputs[i];
        if (!input.defined() || !input.requires_grad()) {
            inputs_.push_back(input);
            continue;
        }
        node->add(input, signature.inputs[i]);
        inputs_.push_back(alias(input, node));
    }
}

void GradientWatch::outputs(Tensors& outputs) const {
    if (!on()) return;
    const auto node = new_node<OutputNode>(seen_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        auto& output = outputs[i];
        if (!output.defined() || !output.requires_grad()) continue;
        node->add(output, seen_->signature.outputs[i]);
        output = alias(output, node);
    }
}

}  // namespace switchyard::runtime
