// The precision policy that a plan chose. Contract: <switchyard/interfaces/precision.h>.
#pragma once

#include <memory>
#include <string>

#include <switchyard/interfaces/precision.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"
#include "core/kernel/runtime/operations/step_weights.h"

namespace switchyard::runtime {

class PrecisionOp {
public:
    PrecisionOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    DType storage(OpClass op, const std::string& layer) const;
    DType compute(OpClass op, const std::string& layer) const;

    // For linear layers that are planned for scaled operands.
    bool quantize(const LinearInputs& inputs, const LinearSite& site, bool for_gradient,
                  QuantizedInputs& made) const;
    QuantizedGradients quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                         const LinearOperand& kept_x, const LinearSite& site,
                                         const LinearNeeds& needs) const;
    // For all others the core does what the policy says, and counts it here.
    void count_dense() const { binding_->executed().count(""); }
    // The weights that the core casts and has prepared: kept from begin_step to end_step at the longest.
    const std::shared_ptr<StepWeights>& weights() const { return weights_; }

    void begin_step() const;
    void end_step() const;
    void set_recompute(bool recompute) const;
    double loss_scale() const;
    void update(bool found_inf) const;
    PrecisionState state() const;
    void load(const PrecisionState& state) const;

    const BindingBase& binding() const { return *binding_; }

private:
    std::shared_ptr<Binding<Precision>> binding_;
    std::shared_ptr<StepWeights> weights_ = std::make_shared<StepWeights>();
};

}  // namespace switchyard::runtime
