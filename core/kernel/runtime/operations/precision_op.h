// The precision policy that a plan chose, and linear layers called through it. Contract:
// <switchyard/interfaces/precision.h>.
#pragma once

#include <memory>
#include <string>

#include <switchyard/interfaces/precision.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::model {

class PrecisionOp {
public:
    PrecisionOp(const host::LoadedComponent& loaded, host::BindingInfo info,
                const resolver::Composed& composed = {});

    DType storage(OpClass op, const std::string& layer) const;
    DType compute(OpClass op, const std::string& layer) const;

    // y [..., out] = x weight^T + bias. `site` must live until the graph is gone: the layer owns it.
    at::Tensor linear(const LinearInputs& inputs, const std::shared_ptr<const LinearSite>& site) const;

    void begin_step() const;
    void end_step() const;
    void set_recompute(bool recompute) const;
    double loss_scale() const;
    void update(bool found_inf) const;
    PrecisionState state() const;
    void load(const PrecisionState& state) const;

    const host::BindingBase& binding() const { return *binding_; }

private:
    std::shared_ptr<host::Binding<Precision>> binding_;
};

}  // namespace switchyard::model
