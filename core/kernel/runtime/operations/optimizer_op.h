// The optimizer that a plan chose. Division by the loss scale and clipping are done here where the component
// does not fold them in: the gradients are then changed in place, and a step with a gradient that is not
// finite does not reach the component. Contract: <switchyard/interfaces/optimizer.h>.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

// Tells everyone who goes by the version counters of the parameters (and of their masters) that a step has
// changed them: kernels that write to their memory, and replayed graphs, do not. OptimizerOp::step does it.
void raise_versions(const std::vector<ParameterGroup>& groups);

class OptimizerOp {
public:
    OptimizerOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    // This and bind_parts may be called again: the component, which is bound once, is then made anew.
    void bind(const std::vector<ParameterGroup>& groups) const;
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) const;
    // Of parts of the parameters, one for each process. Values that a part may begin at a multiple of, as
    // ShardedOptimizer has it; nullopt: the component steps whole models only.
    std::optional<std::int64_t> part_alignment() const;
    void bind_parts(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>& parts) const;
    // All gradients, of all processes, are finite, and their norm after unscaling is `grad_norm`.
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) const;

    OptimizerState state() const;
    void load(const OptimizerState& state) const;

    // Waits for the device within a step, to know whether it may go on.
    bool reads_on_host() const { return compose_unscale_ || compose_clip_; }

    // Whether every step looks for gradients that are not finite, and says what it found.
    bool unscales() const { return binding_->request().unscale; }

    const BindingBase& binding() const { return *binding_; }

private:
    ShardedOptimizer* sharded() const;
    void check(const StepParams& params) const;
    StepParams rest_of(const StepParams& params) const;
    void tell(const std::vector<ParameterGroup>& groups) const;
    bool prepare(const std::vector<ParameterGroup>& groups, const StepParams& params, StepResult& made) const;

    std::shared_ptr<Binding<Optimizer>> binding_;
    bool compose_unscale_ = false;
    bool compose_clip_ = false;
};

}  // namespace switchyard::runtime
