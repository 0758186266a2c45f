// Normalization through the component that a plan chose, in its widest form: y = norm(residual + dropout(x +
// bias)).
//
// Parts that the component does not serve are done here, in the order bias, dropout, residual. A part done
// here takes those before it with it, for they come first. Contract of inputs, parameters and outputs:
// <switchyard/interfaces/normalization.h>.
#pragma once

#include <memory>

#include <switchyard/interfaces/normalization.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

class NormalizationOp {
public:
    NormalizationOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    NormalizationOutputs operator()(const NormalizationInputs& inputs,
                                    const NormalizationParams& params) const;

    // True if the component adds the bias within a kernel of its own. Where it is made of ordinary calls, the
    // linear layer before it adds the bias at less cost.
    bool fuses_bias() const { return binding().gradient() == GradientMode::kernel && !compose_bias_; }

    const BindingBase& binding() const { return *binding_; }

private:
    NormalizationOutputs run(const NormalizationInputs& inputs, const NormalizationParams& params) const;

    std::shared_ptr<Binding<Normalization>> binding_;
    bool compose_bias_ = false;
    bool compose_dropout_ = false;
    bool compose_residual_ = false;
};

}  // namespace switchyard::runtime
