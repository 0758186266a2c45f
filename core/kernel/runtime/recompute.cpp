#include "core/kernel/runtime/recompute.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/graph_node.h"
#include "core/kernel/runtime/random_state.h"

namespace switchyard::runtime {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// A variable of its own for every input, whatever made it.
variable_list distinct(const variable_list& inputs) {
    variable_list result;
    for (const auto& input : inputs)
        result.push_back(input.defined() ? input.detach().requires_grad_(input.requires_grad()) : input);
    return result;
}

// Ends what it began also where the second run throws.
class Recomputing {
public:
    explicit Recomputing(const Segment& segment) : segment_(segment) {
        if (segment_.recomputing) segment_.recomputing(true);
        observed::again = true;
    }
    ~Recomputing() {
        observed::again = false;
        if (segment_.recomputing) segment_.recomputing(false);
    }
    Recomputing(const Recomputing&) = delete;
    Recomputing& operator=(const Recomputing&) = delete;

private:
    const Segment& segment_;
};

class SegmentNode final : public Node {
public:
    SegmentNode(Segment segment, RandomState random)
        : segment_(std::move(segment)), random_(std::move(random)) {}

    std::string name() const override { return "Switchyard[recompute]"; }

    void keep(const variable_list& inputs, const variable_list& parameters) {
        for (const auto& input : inputs) {
            saved_.emplace_back(input, false);
            add_next_edge(edge_of(input));
        }
        for (const auto& parameter : parameters) add_next_edge(edge_of(parameter));
        parameters_ = parameters;
    }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        saved_.clear();
        released_ = true;
    }

    variable_list apply(variable_list&& grads) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (released_) throw std::runtime_error(torch::autograd::ERR_BACKWARD_TWICE);
        if (c10::GradMode::is_enabled())
            throw std::runtime_error(
                "a recomputed part of a model has no second derivative: set train.recompute = \"none\"");
        variable_list unpacked;
        for (const auto& saved : saved_) unpacked.push_back(saved.unpack());
        const c10::AutoGradMode with_grad(true);
        const auto inputs = distinct(unpacked);
        unpacked.clear();
        return differentiate(inputs, run_again(inputs), grads);
    }

private:
    static torch::autograd::Edge edge_of(const at::Tensor& tensor) {
        return tensor.defined() && tensor.requires_grad() ? torch::autograd::impl::gradient_edge(tensor)
                                                          : torch::autograd::Edge();
    }

    variable_list run_again(const variable_list& inputs) const {
        const Recomputing recomputing(segment_);
        const ReplayRandom random(random_, segment_.device);
        return segment_.run(inputs);
    }

    variable_list differentiate(const variable_list& inputs, const variable_list& outputs,
                                const variable_list& grads) const {
        variable_list roots, root_grads, leaves;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!grads[i].defined() || !outputs[i].requires_grad()) continue;
            roots.push_back(outputs[i]);
            root_grads.push_back(grads[i]);
        }
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < num_outputs(); ++i) {
            if (!task_should_compute_output(i)) continue;
            leaves.push_back(i < inputs.size() ? inputs[i] : parameters_[i - inputs.size()]);
            places.push_back(i);
        }
        variable_list result(num_outputs());
        if (roots.empty() || leaves.empty()) return result;
        auto made = torch::autograd::grad(roots, leaves, root_grads, false, false, /*allow_unused=*/true);
        for (std::size_t i = 0; i < places.size(); ++i) result[places[i]] = std::move(made[i]);
        return result;
    }

    Segment segment_;
    RandomState random_;
    std::vector<SavedVariable> saved_;
    variable_list parameters_;
    bool released_ = false;
};

}  // namespace

std::vector<at::Tensor> run_recomputed(const Segment& segment, const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& parameters) {
    if (!c10::GradMode::is_enabled()) return segment.run(inputs);
    const auto node = new_node<SegmentNode>(segment, RandomState::capture(segment.device));
    node->keep(inputs, parameters);
    // With grad mode on, as the second time: a component may choose its kernel by whether there will be a
    // gradient, and other kernels give other bits.
    const auto raw = segment.run(distinct(inputs));
    std::vector<at::Tensor> outputs;
    for (const auto& one : raw) {
        auto output = one.detach();
        set_node(output, node);
        outputs.push_back(std::move(output));
    }
    return outputs;
}

}  // namespace switchyard::runtime
