// Linear layers through the component that a plan chose, in the numbers that the precision policy says.
// Contract: <switchyard/interfaces/linear.h>.
#pragma once

#include <memory>

#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/precision.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"
#include "core/kernel/runtime/operations/precision_op.h"
#include "core/kernel/runtime/operations/step_weights.h"

namespace switchyard::runtime {

// Where a layer stands, and what is kept from call to call. All of it must live until the graph is gone.
struct LinearContext {
    std::shared_ptr<const LinearSite> site;
    std::shared_ptr<StepWeights> weights;
    // Quantizes where the request's weight_format is scaled; nullptr serves dense requests.
    std::shared_ptr<const PrecisionOp> policy;
};

class LinearOp {
public:
    LinearOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    // y [..., out] in the request's output_dtype. x and parameters in whatever dtype; gradients come in the
    // dtypes of the inputs.
    at::Tensor operator()(const LinearInputs& inputs, const LinearContext& context) const;

    const BindingBase& binding() const { return *binding_; }

private:
    std::shared_ptr<Binding<Linear>> binding_;
};

}  // namespace switchyard::runtime
