// The optimizer that a plan chose. Division by the loss scale and clipping are done here where the component
// does not fold them in: the gradients are then changed in place, and a step with a gradient that is not
// finite does not reach the component. Contract: <switchyard/interfaces/optimizer.h>.
#pragma once

#include <memory>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

// Tells everyone who goes by the version counters of the parameters (and of their masters) that a step has
// changed them: kernels that write to their memory, and replayed graphs, do not. OptimizerOp::step does it.
void raise_versions(const std::vector<ParameterGroup>& groups);

class OptimizerOp {
public:
    OptimizerOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    void bind(const std::vector<ParameterGroup>& groups) const;
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) const;
    OptimizerState state() const;
    void load(const OptimizerState& state) const;

    // Waits for the device within a step, to know whether it may go on.
    bool reads_on_host() const { return compose_unscale_ || compose_clip_; }

    const BindingBase& binding() const { return *binding_; }

private:
    bool prepare(const std::vector<ParameterGroup>& groups, const StepParams& params, StepResult& made) const;

    std::shared_ptr<Binding<Optimizer>> binding_;
    bool compose_unscale_ = false;
    bool compose_clip_ = false;
};

}  // namespace switchyard::runtime
