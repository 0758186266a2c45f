// What all differentiable operations share: a call of a bound component, as the autograd bridge wants it.
//
// `Traits` names the Interface, its Inputs and Params, and says
//     signature                                          names of calls and tensors
//     pointers(inputs)                                   the tensors of the signature, as an array
//     inputs_of(tensors)                                 back from a list of them
//     forward(component, inputs, params, outputs, saved)
//     backward(component, params, saved, grads, needs)
//     reference(inputs, params, outputs)
//     versions(params)                                   changes when a tensor of params is changed in place
#pragma once

#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/kernel/runtime/autograd_bridge.h"
#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/gradient_watch.h"

namespace switchyard::runtime {

template <class Traits>
class OperationCall final : public KernelCall {
public:
    using Interface = typename Traits::Interface;
    using Inputs = typename Traits::Inputs;
    using Params = typename Traits::Params;
    using Binding = std::shared_ptr<runtime::Binding<Interface>>;

    // Refers to its arguments.
    OperationCall(const Binding& binding, const Inputs* inputs, const Params& params)
        : binding_(binding), inputs_(inputs), params_(params) {}

    void forward(Tensors& outputs, Saved* saved) override {
        Traits::forward(binding_->interface(), *inputs_, params_, outputs, saved);
    }
    Tensors backward(const Saved& saved, const Tensors& grads, Needs needs) override {
        return Traits::backward(binding_->interface(), params_, saved, grads, needs);
    }
    Tensors reference(const Tensors& inputs) override {
        return Traits::reference(Traits::inputs_of(inputs), params_);
    }
    std::uint64_t versions() const override { return Traits::versions(params_); }

    const AttentionParams* attention() const override {
        if constexpr (std::is_same_v<Params, AttentionParams>)
            return &params_;
        else
            return nullptr;
    }

    std::shared_ptr<KernelCall> keep() const override {
        const auto kept = std::make_shared<Kept>(binding_, params_);
        return {kept, &kept->call};
    }

private:
    // Owns what a call on the stack only refers to.
    struct Kept {
        Kept(const Binding& kept_binding, const Params& kept_params)
            : binding(kept_binding), params(kept_params), call(binding, nullptr, params) {}

        Binding binding;
        typename Traits::KeptParams params;
        OperationCall call;
    };

    const Binding& binding_;
    const Inputs* inputs_;
    const Params& params_;
};

// A call whose gradients are watched where autograd follows it.
template <class Traits>
void call_watched(const typename OperationCall<Traits>::Binding& binding,
                  const typename Traits::Inputs& inputs, const typename Traits::Params& params,
                  Tensors& outputs) {
    const GradientWatch watch(binding, Traits::signature, Traits::pointers(inputs));
    const typename Traits::Inputs given = watch.on() ? Traits::inputs_of(watch.inputs()) : inputs;
    OperationCall<Traits> operation(binding, &given, params);
    runtime::apply(*binding, Traits::signature, operation, Traits::pointers(given), outputs);
    watch.outputs(outputs);
}

template <class Traits>
void call(const typename OperationCall<Traits>::Binding& binding, const typename Traits::Inputs& inputs,
          const typename Traits::Params& params, Tensors& outputs) {
    if (runtime::call_observer() != nullptr) [[unlikely]]
        return call_watched<Traits>(binding, inputs, params, outputs);
    OperationCall<Traits> operation(binding, &inputs, params);
    runtime::apply(*binding, Traits::signature, operation, Traits::pointers(inputs), outputs);
}

}  // namespace switchyard::runtime
