// cuDNN's attention through LibTorch's `_scaled_dot_product_cudnn_attention`, for what it is known to do
// right: padded batches without a mask, or causal with as many queries as keys.
#pragma once

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class CudnnAttention final : public Attention {
public:
    using Attention::Attention;

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override;
};

}  // namespace switchyard
