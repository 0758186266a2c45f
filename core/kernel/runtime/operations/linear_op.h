// Linear layers through the component that a plan chose, in the numbers that the precision policy says, or
// with a weight that was quantized before.
// Contract: <switchyard/interfaces/linear.h>.
#pragma once

#include <cstdint>
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
    // The layer's weight where the request's weight_format is quantized; calls come without another then.
    std::shared_ptr<const QuantizedWeight> quantized = nullptr;
};

class LinearOp {
public:
    LinearOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    // y [..., out] in the request's output_dtype. x and parameters in whatever dtype; gradients come in the
    // dtypes of the inputs.
    at::Tensor operator()(const LinearInputs& inputs, const LinearContext& context) const;

    // Makes the component's form of a weight that will not change any more, for calls without gradients; the
    // context's quantized one where it has that. True where no call reads the weight's values any more.
    bool settle(const at::Tensor& weight, const LinearContext& context) const;

    // Bytes of that form where it replaces the weight; 0 where calls read the weight itself.
    std::int64_t form_bytes(const at::Tensor& weight, const LinearContext& context) const;

    const BindingBase& binding() const { return *binding_; }

private:
    std::shared_ptr<Binding<Linear>> binding_;
    const void* user_;  // whose forms of weights are kept: the binding's, or those of all that share them
};

}  // namespace switchyard::runtime
