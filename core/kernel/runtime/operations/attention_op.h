// Attention through the component that a plan chose. Contract of inputs, parameters and outputs:
// <switchyard/interfaces/attention.h>.
#pragma once

#include <memory>

#include <switchyard/interfaces/attention.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

class AttentionOp {
public:
    // Throws PluginError from the component's `create`, std::invalid_argument for composed parts that
    // attention does not have: there is "pages" alone, a paged cache put together before the call.
    AttentionOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    // Throws std::invalid_argument naming the values for inputs that do not fit each other or the request
    // that the component was bound for.
    AttentionOutputs operator()(const AttentionInputs& inputs, const AttentionParams& params) const;

    const BindingBase& binding() const { return *binding_; }

private:
    AttentionOutputs run(const AttentionInputs& inputs, const AttentionParams& params) const;
    AttentionOutputs call_component(const AttentionInputs& inputs, const AttentionParams& params) const;

    std::shared_ptr<Binding<Attention>> binding_;
    bool gathers_pages_;  // around a component that takes keys and values end to end
};

}  // namespace switchyard::runtime
