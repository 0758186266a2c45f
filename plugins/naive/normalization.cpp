#include "normalization.h"

#include <switchyard/reference/normalization.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

Verdict NaiveNormalization::supports(const NormalizationRequest& request, const HostInfo& host,
                                     const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    return verdict;
}

NormalizationOutputs NaiveNormalization::forward(const NormalizationInputs& inputs,
                                                 const NormalizationParams& params, Saved*) {
    executed();
    return reference::normalization(inputs, params);
}

}  // namespace switchyard
