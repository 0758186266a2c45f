// Activation through the component that a plan chose: y = dropout(act(x + bias)). The bias before it and the
// dropout after it are done here where the component does not serve them. Contract:
// <switchyard/interfaces/activation.h>.
#pragma once

#include <memory>

#include <switchyard/interfaces/activation.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

class ActivationOp {
public:
    ActivationOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    at::Tensor operator()(const ActivationInputs& inputs, const ActivationParams& params) const;

    // True if the component adds the bias within a kernel of its own. Where it is made of ordinary calls, the
    // linear layer before it adds the bias at less cost.
    bool fuses_bias() const { return binding().gradient() == GradientMode::kernel && !compose_bias_; }

    const BindingBase& binding() const { return *binding_; }

private:
    at::Tensor run(const ActivationInputs& inputs, const ActivationParams& params) const;

    std::shared_ptr<Binding<Activation>> binding_;
    bool compose_bias_ = false;
    bool compose_dropout_ = false;
};

}  // namespace switchyard::runtime
