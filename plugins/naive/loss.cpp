#include "loss.h"

#include <switchyard/reference/loss.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

Verdict NaiveLoss::supports(const LossRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    return verdict;
}

LossOutputs NaiveLoss::forward(const LossInputs& inputs, const LossParams& params, Saved*) {
    executed();
    return reference::loss(inputs, params);
}

}  // namespace switchyard
