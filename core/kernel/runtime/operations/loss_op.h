// Loss through the component that a plan chose. The output projection is done here where the component takes
// logits only. Contract: <switchyard/interfaces/loss.h>.
#pragma once

#include <memory>

#include <switchyard/interfaces/loss.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

class LossOp {
public:
    LossOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    LossOutputs operator()(const LossInputs& inputs, const LossParams& params) const;

    const BindingBase& binding() const { return *binding_; }

private:
    LossOutputs run(const LossInputs& inputs, const LossParams& params) const;

    std::shared_ptr<Binding<Loss>> binding_;
    bool compose_projection_ = false;
};

}  // namespace switchyard::runtime
