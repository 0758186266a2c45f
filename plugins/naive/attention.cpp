#include "attention.h"

#include <switchyard/reference/attention.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

Verdict NaiveAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    require_known_masks(verdict, request);
    require_padded_dense_bias(verdict, request);
    require_deterministic_bias_sums(verdict, request);
    return verdict;
}

AttentionOutputs NaiveAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                         Saved*) {
    executed();
    return reference::attention(inputs, params);
}

}  // namespace switchyard
