// The backward of a call that autograd follows by itself, for an observer: pass-through nodes where gradients
// enter and leave it.
//
// Made for calls of differentiable components while calls are observed, and at no other time. Values stay the
// bits that they are; where one tensor stands for several inputs, the parts of its gradient may be summed in
// another order.
#pragma once

#include <memory>
#include <span>

#include "core/kernel/runtime/autograd_bridge.h"

namespace switchyard::runtime {

class GradientWatch {
public:
    // Off unless calls are observed, an input needs a gradient, and the component is differentiable.
    GradientWatch(const std::shared_ptr<const BindingBase>& binding, const Signature& signature,
                  std::span<const at::Tensor* const> inputs);

    bool on() const { return seen_ != nullptr; }
    // What the call is to be given instead of its inputs.
    const Tensors& inputs() const { return inputs_; }
    // Replaces those that have a gradient.
    void outputs(Tensors& outputs) const;

private:
    struct Seen;
    class InputNode;
    class OutputNode;

    std::shared_ptr<Seen> seen_;
    Tensors inputs_;
};

}  // namespace switchyard::runtime
