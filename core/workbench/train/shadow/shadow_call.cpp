#include "core/workbench/train/shadow/shadow_call.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/equal.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/runtime/backward_from.h"
#include "core/kernel/runtime/random_state.h"

namespace switchyard::train {
namespace {

// With the same strides, where each value has a place of its own: kernels choose by them.
at::Tensor copy_of(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const c10::AutoGradMode no_grad(false);
    const auto sizes = tensor.sizes(), strides = tensor.strides();
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (strides[d] == 0 && sizes[d] > 1) return tensor.clone();
    return at::empty_strided(sizes, strides, tensor.options()).copy_(tensor);
}

TensorList copies_of(const TensorList& tensors) {
    TensorList copies;
    for (const auto& tensor : tensors) copies.push_back(copy_of(tensor));
    return copies;
}

at::ScalarType bits_of(const at::Tensor& tensor) {
    switch (tensor.element_size()) {
        case 8:
            return at::kLong;
        case 4:
            return at::kInt;
        case 2:
            return at::kShort;
        default:
            return at::kByte;
    }
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    const auto type = bits_of(a);
    return at::equal(a.detach().contiguous().view(type), b.detach().contiguous().view(type));
}

double milliseconds(Device device) {
    if (device != Device::cpu) {
        const c10::impl::VirtualGuardImpl guard(to_device_type(device));
        guard.synchronizeDevice(guard.getDevice().index());
    }
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(now).count();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

struct Side {
    TensorList outputs, gradients;
    double ms = 0.0;
    std::string error;
    std::string changed;  // an input or a gradient that the component wrote to
};

class Twice {
public:
    Twice(ShadowCall& call, Device device) : call_(call), device_(device) {
        for (std::size_t i = 0; i < call.inputs.size(); ++i)
            if (call.inputs[i].defined() && call.needs[i]) trained_.push_back(i);
        differentiates_ = call.any_incoming() && !trained_.empty();
    }

    bool differentiates() const { return differentiates_; }

    // The part of the last output's gradient that comes from outside.
    void take_out_what_comes_through() {
        const auto inputs = fresh_inputs();
        const auto outputs = call_.trusted(inputs);
        const auto through =
            runtime::gradients_from({outputs.front()}, {call_.incoming.front()}, {outputs.back()}, false)[0];
        if (through.defined()) call_.incoming.back() = call_.incoming.back() - through.detach();
    }

    Side run(const std::function<TensorList(const TensorList&)>& operation) const {
        Side side;
        try {
            const auto inputs = fresh_inputs();
            const auto incoming = copies_of(call_.incoming);
            const double begin = milliseconds(device_);
            const auto outputs = operation(inputs);
            TensorList gradients;
            if (differentiates_)
                gradients = runtime::gradients_from(outputs, incoming, trained(inputs), false);
            side.ms = milliseconds(device_) - begin;
            for (const auto& output : outputs)
                side.outputs.push_back(output.defined() ? output.detach() : output);
            side.gradients = std::move(gradients);
            side.changed = changed_of(inputs, incoming);
        } catch (const std::exception& error) {
            side.error = first_line(error.what());
            if (side.error.empty()) side.error = "an error without a text";
        }
        return side;
    }

    std::vector<TensorPair> output_pairs(const Side& trusted, const Side& candidate) const {
        std::vector<TensorPair> pairs;
        for (std::size_t i = 0; i < call_.output_names.size(); ++i) {
            // What only one of them offers was not asked for.
            if (trusted.outputs[i].defined() && candidate.outputs[i].defined())
                pairs.push_back({call_.output_names[i], trusted.outputs[i], candidate.outputs[i]});
        }
        return pairs;
    }

    std::vector<TensorPair> gradient_pairs(const Side& trusted, const Side& candidate) const {
        std::vector<TensorPair> pairs;
        for (std::size_t i = 0; i < trained_.size(); ++i)
            pairs.push_back({call_.input_names[trained_[i]], trusted.gradients[i], candidate.gradients[i]});
        return pairs;
    }

private:
    TensorList fresh_inputs() const {
        auto inputs = copies_of(call_.inputs);
        for (const auto i : trained_) inputs[i].requires_grad_();
        return inputs;
    }

    TensorList trained(const TensorList& inputs) const {
        TensorList chosen;
        for (const auto i : trained_) chosen.push_back(inputs[i]);
        return chosen;
    }

    std::string changed_of(const TensorList& inputs, const TensorList& incoming) const {
        for (std::size_t i = call_.may_overwrite ? 1 : 0; i < inputs.size(); ++i)
            if (inputs[i].defined() && !same_bits(inputs[i], call_.inputs[i])) return call_.input_names[i];
        for (std::size_t i = 0; i < incoming.size(); ++i)
            if (incoming[i].defined() && !same_bits(incoming[i], call_.incoming[i]))
                return std::string("the gradient of ") + call_.output_names[i];
        return "";
    }

    ShadowCall& call_;
    Device device_;
    std::vector<std::size_t> trained_;  // inputs that have a gradient
    bool differentiates_ = false;
};

}  // namespace

bool ShadowCall::any_incoming() const {
    return std::ranges::any_of(incoming, [](const at::Tensor& gradient) { return gradient.defined(); });
}

ShadowFinding run_twice(ShadowCall& call, Device device, bool candidate_first) {
    const c10::AutoGradMode with_grad(true);
    const auto before = runtime::RandomState::capture(device);
    const runtime::ReplayRandom random(before, device);
    ShadowFinding finding;
    Twice twice(call, device);
    Side trusted, candidate;
    try {
        if (twice.differentiates() && call.last_is_operand && call.incoming.front().defined() &&
            call.incoming.back().defined())
            twice.take_out_what_comes_through();
    } catch (const std::exception& error) {
        trusted.error = first_line(error.what());
    }
    for (const bool first : {true, false}) {
        before.restore();
        if (candidate_first == first)
            candidate = twice.run(call.candidate);
        else if (trusted.error.empty())
            trusted = twice.run(call.trusted);
    }
    finding.trusted_ms = trusted.ms;
    finding.candidate_ms = candidate.ms;
    if (!candidate.error.empty())
        finding.fault = candidate.error;
    else if (!trusted.error.empty())
        finding.fault = "the trusted component could not be called a second time: " + trusted.error;
    if (!finding.fault.empty()) return finding;
    finding.outputs = drift_of(twice.output_pairs(trusted, candidate), "");
    finding.has_gradients = twice.differentiates();
    if (finding.has_gradients)
        finding.gradients = drift_of(twice.gradient_pairs(trusted, candidate), "the gradient of ");
    if (!candidate.changed.empty())
        finding.fault = "wrote to " + candidate.changed + ", which is not its own";
    if (finding.fault.empty()) finding.fault = finding.outputs.fault;
    if (finding.fault.empty()) finding.fault = finding.gradients.fault;
    return finding;
}

}  // namespace switchyard::train
