#include "attention.h"

#include <switchyard/reference/attention.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

Verdict NaiveAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, request.layout == Layout::padded || !request.masks.has(MaskKind::dense_bias),
            Code::Layout, "layout", "padded with a dense bias", name(request.layout));
    REQUIRE(verdict, request.device == Device::cpu || !request.deterministic || !request.bias_gradient,
            Code::Determinism, "deterministic",
            "false on cuda with a gradient of the bias table (its sums are taken atomically)", "true");
    return verdict;
}

AttentionOutputs NaiveAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                         Saved*) {
    executed();
    return reference::attention(inputs, params);
}

}  // namespace switchyard
