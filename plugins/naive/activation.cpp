#include "activation.h"

#include <switchyard/reference/activation.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

Verdict NaiveActivation::supports(const ActivationRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    return verdict;
}

at::Tensor NaiveActivation::forward(const ActivationInputs& inputs, const ActivationParams& params, Saved*) {
    executed();
    return reference::activation(inputs, params);
}

}  // namespace switchyard
