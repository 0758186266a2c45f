// The nodes here are LibTorch's own kind (torch::autograd::Node), as its generated derivatives are: the
// Function template for users makes several sets and maps in every call.
#include "core/kernel/runtime/autograd_bridge.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/call_timer.h"
#include "core/kernel/runtime/graph_node.h"

namespace switchyard::runtime {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using Inputs = std::span<const at::Tensor* const>;

bool needs_grad(Inputs inputs) {
    if (!c10::GradMode::is_enabled()) return false;
    for (const at::Tensor* input : inputs) {
        if (input->defined() && input->requires_grad()) return true;
    }
    return false;
}

bool is_differentiable(const Signature& signature, std::size_t output) {
    return ((signature.differentiable_outputs >> output) & 1U) != 0;
}

// Index of the tensor itself (not of an equal one), or -1.
int find(Inputs tensors, const at::Tensor& tensor) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensor.defined() && tensor.is_same(*tensors[i])) return static_cast<int>(i);
    }
    return -1;
}

int find(const Tensors& tensors, const at::Tensor& tensor) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensor.defined() && tensor.is_same(tensors[i])) return static_cast<int>(i);
    }
    return -1;
}

template <class Sizes>
std::string shape_text(const Sizes& sizes) {
    std::string text = "[";
    for (const auto& size : sizes) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(static_cast<std::int64_t>(c10::SymInt(size).guard_int(__FILE__, __LINE__)));
    }
    return text + "]";
}

// Those of `values` that are there, with their names.
template <class Values>
void add_defined(std::span<const char* const> names, const Values& values, std::vector<ObservedTensor>& to) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].defined()) to.push_back({names[i], values[i].detach()});
    }
}

// What both nodes share: names, whose component, and being run at most until released.
class BridgeNode : public Node {
public:
    BridgeNode(const Signature& signature, std::shared_ptr<KernelCall> call, const BindingBase& binding)
        : signature_(signature),
          call_(std::move(call)),
          binding_(binding),
          versions_(call_->versions()),
          place_(current_place()) {}

    std::string name() const override { return std::string("Switchyard[") + signature_.backward + "]"; }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        saved_.clear();
        call_.reset();
    }

protected:
    void check_still_valid() const {
        if (call_ == nullptr) throw std::runtime_error(torch::autograd::ERR_BACKWARD_TWICE);
        if (call_->versions() == versions_) return;
        throw std::runtime_error(
            binding_.describe() +
            ": a tensor of the call's parameters (mask, lengths or positions) was changed "
            "in place between forward and backward");
    }

    Needs needs() const {
        Needs result;
        for (std::size_t i = 0; i < num_outputs(); ++i) {
            if (task_should_compute_output(i)) result.set(i);
        }
        return result;
    }

    template <class Gradients>
    void tell(const Gradients& given, const variable_list& made) const {
        if (call_observer() == nullptr) [[likely]]
            return;
        ObservedCall observed{binding_, signature_.backward, place_, Pass::backward, false, {}, {}};
        add_defined(signature_.outputs, given, observed.inputs);
        add_defined(signature_.inputs, made, observed.outputs);
        tell_observer(observed);
    }

    const Signature& signature_;
    std::shared_ptr<KernelCall>
        call_;  // keeps the binding alive; nullptr once the graph's memory has been released
    const BindingBase& binding_;
    const std::uint64_t versions_;
    const std::string place_;  // empty unless calls are observed or timed
    std::vector<SavedVariable> saved_;
};

class KernelNode final : public BridgeNode {
public:
    using BridgeNode::BridgeNode;

    void keep(Saved&& saved, Inputs inputs, const Tensors& raw_outputs, const Tensors& outputs) {
        integers_ = std::move(saved.integers);
        saved_.reserve(saved.tensors.size());
        entries_.reserve(saved.tensors.size());
        for (Saved::Entry& entry : saved.tensors) keep_one(entry, inputs, raw_outputs, outputs);
    }

    variable_list apply(variable_list&& grads) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        check_still_valid();
        const Needs needed = needs();
        Tensors given;
        bool any = false;
        for (at::Tensor& grad : grads) {
            any = any || grad.defined();
            given.push_back(std::move(grad));
        }
        variable_list result(num_outputs());
        if (!any || !needed.any()) return result;
        run_backward(given, needed, result);
        tell(given, result);
        if (c10::GradMode::is_enabled()) forbid_second_derivative(result, given);
        return result;
    }

private:
    struct Entry {
        SavedRole role;
        bool node_output;  // is to be unpacked with this node
    };

    void keep_one(const Saved::Entry& entry, Inputs inputs, const Tensors& raw_outputs,
                  const Tensors& outputs) {
        const int input = find(inputs, entry.tensor);
        const int output = input >= 0 ? -1 : find(raw_outputs, entry.tensor);
        if (entry.tensor.defined() && ((entry.role == SavedRole::input && input < 0) ||
                                       (entry.role == SavedRole::output && input < 0 && output < 0))) {
            const std::string role = entry.role == SavedRole::input ? "input" : "output";
            throw PluginError(binding_.site(signature_.forward),
                              "saved tensor " + std::to_string(saved_.size()) + " is marked as an " + role +
                                  ", but is none of the " + role + "s: save it as an extra");
        }
        entries_.push_back({entry.role, output >= 0});
        if (input >= 0) {
            saved_.emplace_back(*inputs[input], false);
        } else if (output >= 0) {
            saved_.emplace_back(outputs[output], true);
        } else {
            // A view made in forward knows its base, which may be an output, which knows this node: not to be
            // kept in a circle.
            const bool view = entry.tensor.defined() && entry.tensor.is_view();
            saved_.emplace_back(view ? entry.tensor.tensor_data() : entry.tensor, false);
        }
    }

    void run_backward(const Tensors& given, Needs needed, variable_list& result) {
        const c10::AutoGradMode no_grad(false);
        const PlaceScope place([&] { return place_; });
        Saved saved;
        saved.integers = integers_;
        saved.tensors.reserve(saved_.size());
        for (std::size_t i = 0; i < saved_.size(); ++i) {
            saved.tensors.push_back(
                {saved_[i].unpack(entries_[i].node_output ? getptr() : nullptr), entries_[i].role});
        }
        Tensors made =
            binding_.run(signature_.backward, [&] { return call_->backward(saved, given, needed); });
        if (made.size() != num_outputs()) {
            throw PluginError(binding_.site(signature_.backward), "returned " + std::to_string(made.size()) +
                                                                      " gradients, expected " +
                                                                      std::to_string(num_outputs()));
        }
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (!needed[i]) continue;
            check_gradient(i, made[i]);
            result[i] = std::move(made[i]);
        }
    }

    void check_gradient(std::size_t i, const at::Tensor& gradient) const {
        const auto& edge = next_edge(i);
        const auto& expected = edge.function->input_metadata(edge.input_nr);
        const auto sizes = expected.shape_as_dim_vector();
        const bool defined = gradient.defined();
        if (defined && gradient.sym_sizes() == sizes && gradient.dtype() == expected.dtype() &&
            gradient.device() == expected.device()) {
            return;
        }
        std::string text = std::string("the gradient for ") + signature_.inputs[i] + " ";
        if (!defined) {
            text += "is missing, although it is needed";
        } else if (gradient.sym_sizes() != sizes) {
            text += "has shape " + shape_text(gradient.sizes()) + ", expected " + shape_text(sizes);
        } else if (gradient.dtype() != expected.dtype()) {
            text += "is " + std::string(gradient.dtype().name()) + ", expected " +
                    std::string(expected.dtype().name());
        } else {
            text += "is on " + gradient.device().str() + ", expected " + expected.device().str();
        }
        throw PluginError(binding_.site(signature_.backward), text);
    }

    // The component's gradients depend on its inputs and on the incoming gradients, which autograd has not
    // seen. Each gets a node that throws when it is differentiated, and that leads on to all it depends on,
    // so that the engine cannot pass it by.
    void forbid_second_derivative(variable_list& result, const Tensors& given) const {
        torch::autograd::edge_list dependencies = next_edges();
        for (const at::Tensor& grad : given) {
            if (grad.defined() && grad.requires_grad()) {
                dependencies.push_back(torch::autograd::impl::gradient_edge(grad));
            }
        }
        const NodePtr error = new_node<torch::autograd::Error>(
            binding_.describe() + ": " + signature_.backward +
                " is a kernel without a second derivative; choose a backend whose "
                "gradient is 'differentiable' or 'recompute'",
            std::move(dependencies));
        for (at::Tensor& gradient : result) {
            if (!gradient.defined()) continue;
            gradient = gradient.detach();
            set_node(gradient, error);
        }
    }

    std::vector<Entry> entries_;
    std::vector<std::int64_t> integers_;
};

class RecomputeNode final : public BridgeNode {
public:
    using BridgeNode::BridgeNode;

    void keep(Inputs inputs) {
        saved_.reserve(inputs.size());
        for (const at::Tensor* input : inputs) saved_.emplace_back(*input, false);
    }

    variable_list apply(variable_list&& grads) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        check_still_valid();
        const bool twice = c10::GradMode::is_enabled();
        const c10::AutoGradMode with_grad(true);
        const Needs needed = needs();
        Tensors inputs;
        for (std::size_t i = 0; i < saved_.size(); ++i)
            inputs.push_back(distinct(saved_[i].unpack(), needed[i], twice));
        const PlaceScope place([&] { return place_; });
        const TimedScope timed(binding_, signature_.backward);
        const Tensors outputs = call_->reference(inputs);
        variable_list result = differentiate(inputs, outputs, grads, needed, twice);
        tell(grads, result);
        return result;
    }

private:
    // A variable of its own for every input: one tensor may stand in several places (q, k and v), each with
    // its own part of the gradient.
    static at::Tensor distinct(const at::Tensor& input, bool needed, bool twice) {
        if (!input.defined() || !needed) return input.defined() ? input.detach() : input;
        return twice ? input.view_as(input) : input.detach().requires_grad_();
    }

    variable_list differentiate(const Tensors& inputs, const Tensors& outputs, const variable_list& grads,
                                Needs needed, bool twice) const {
        variable_list roots, root_grads, leaves;
        for (std::size_t i = 0; i < grads.size(); ++i) {
            if (!grads[i].defined() || !outputs[i].defined() || !outputs[i].requires_grad()) continue;
            roots.push_back(outputs[i]);
            root_grads.push_back(grads[i]);
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (needed[i]) leaves.push_back(inputs[i]);
        }
        variable_list result(num_outputs());
        if (roots.empty() || leaves.empty()) return result;
        variable_list made =
            torch::autograd::grad(roots, leaves, root_grads, twice, twice, /*allow_unused=*/true);
        std::size_t next = 0;
        for (std::size_t i = 0; i < result.size(); ++i) {
            if (needed[i]) result[i] = std::move(made[next++]);
        }
        return result;
    }
};

template <class MadeNode>
auto make_node(const BindingBase& binding, const Signature& signature, const KernelCall& call,
               Inputs inputs) {
    const auto node = new_node<MadeNode>(signature, call.keep(), binding);
    node->next_edges().reserve(inputs.size());
    for (const at::Tensor* input : inputs) {
        node->add_next_edge(input->defined() ? torch::autograd::impl::gradient_edge(*input)
                                             : torch::autograd::Edge());
    }
    return node;
}

// An output that autograd already knows - an input itself, a view of one, the same tensor twice - becomes an
// alias that can have this node.
at::Tensor as_output(const at::Tensor& raw, Inputs inputs, const Tensors& earlier) {
    if (!raw.is_view() && !raw.requires_grad() && find(inputs, raw) < 0 && find(earlier, raw) < 0) return raw;
    return raw.detach();
}

void connect(const NodePtr& node, const BindingBase& binding, const Signature& signature, Inputs inputs,
             const Tensors& raw_outputs, Tensors& outputs) {
    for (std::size_t i = 0; i < raw_outputs.size(); ++i) {
        const at::Tensor& raw = raw_outputs[i];
        if (!raw.defined() || !is_differentiable(signature, i)) {
            node->add_input_metadata(Node::undefined_input());
            outputs.push_back(raw);
            continue;
        }
        if (!at::isFloatingType(raw.scalar_type())) {
            throw PluginError(binding.site(signature.forward), std::string("output ") + signature.outputs[i] +
                                                                   " is " + c10::toString(raw.scalar_type()) +
                                                                   ", which cannot have a gradient");
        }
        at::Tensor output = as_output(raw, inputs, outputs);
        set_node(output, node);
        outputs.push_back(std::move(output));
    }
}

[[gnu::noinline, gnu::cold]] void tell_forward(const BindingBase& binding, const Signature& signature,
                                               Inputs inputs, const Tensors& outputs) {
    ObservedCall observed{binding, signature.forward, current_place(), Pass::forward, observed::again, {},
                          {}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i]->defined()) observed.inputs.push_back({signature.inputs[i], inputs[i]->detach()});
    }
    add_defined(signature.outputs, outputs, observed.outputs);
    tell_observer(observed);
}

void run_forward(const BindingBase& binding, const Signature& signature, KernelCall& call, Inputs inputs,
                 Tensors& outputs, Saved* saved) {
    binding.run(signature.forward, [&] { call.forward(outputs, saved); });
    if (outputs.size() != signature.outputs.size()) {
        throw std::logic_error(std::string(signature.forward) + ": " + std::to_string(outputs.size()) +
                               " outputs, expected " + std::to_string(signature.outputs.size()));
    }
    if (call_observer() != nullptr) [[unlikely]]
        tell_forward(binding, signature, inputs, outputs);
    if (auto* const timer = call_timer(); timer != nullptr) [[unlikely]]
        timer->called(binding, signature, call, inputs, outputs);
}

void apply_kernel(const BindingBase& binding, const Signature& signature, KernelCall& call, Inputs inputs,
                  Tensors& outputs) {
    Saved saved;
    Tensors raw;
    {
        const c10::AutoGradMode no_grad(false);
        run_forward(binding, signature, call, inputs, raw, &saved);
    }
    const auto node = make_node<KernelNode>(binding, signature, call, inputs);
    connect(node, binding, signature, inputs, raw, outputs);
    node->keep(std::move(saved), inputs, raw, outputs);
}

void apply_recompute(const BindingBase& binding, const Signature& signature, KernelCall& call, Inputs inputs,
                     Tensors& outputs) {
    Tensors raw;
    {
        const c10::AutoGradMode no_grad(false);
        run_forward(binding, signature, call, inputs, raw, nullptr);
    }
    const auto node = make_node<RecomputeNode>(binding, signature, call, inputs);
    connect(node, binding, signature, inputs, raw, outputs);
    node->keep(inputs);
}

void apply_differentiable(const BindingBase& binding, const Signature& signature, KernelCall& call,
                          Inputs inputs, Tensors& outputs) {
    run_forward(binding, signature, call, inputs, outputs, nullptr);
    if (!outputs[0].defined() || outputs[0].requires_grad()) return;
    throw PluginError(binding.site(signature.forward),
                      std::string("says that it is differentiable, but its output ") + signature.outputs[0] +
                          " has no gradient");
}

[[noreturn]] void refuse_gradient(const BindingBase& binding, const Signature& signature, Inputs inputs,
                                  const char* why) {
    std::string names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i]->defined() || !inputs[i]->requires_grad()) continue;
        names += (names.empty() ? "" : ", ") + std::string(signature.inputs[i]);
    }
    throw std::invalid_argument(binding.describe() + ": a gradient is needed for " + names + ", and " + why +
                                "; call it without grad mode, or choose another backend");
}

}  // namespace

void apply(const BindingBase& binding, const Signature& signature, KernelCall& call, Inputs inputs,
           Tensors& outputs) {
    if (!needs_grad(inputs)) return run_forward(binding, signature, call, inputs, outputs, nullptr);
    if (!binding.request().needs_grad)
        refuse_gradient(binding, signature, inputs, "it is bound for calls without");
    switch (binding.gradient()) {
        case GradientMode::kernel:
            return apply_kernel(binding, signature, call, inputs, outputs);
        case GradientMode::differentiable:
            return apply_differentiable(binding, signature, call, inputs, outputs);
        case GradientMode::recompute:
            return apply_recompute(binding, signature, call, inputs, outputs);
        case GradientMode::none:
            refuse_gradient(binding, signature, inputs, "this component has none");
    }
}

}  // namespace switchyard::runtime
