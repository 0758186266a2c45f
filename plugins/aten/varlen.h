// LibTorch's flash attention (Dao 2023, arXiv:2307.08691, as LibTorch ships it) for packed sequences: one
// call for all of them, forward and backward, where `scaled_dot_product_attention` has no such layout.
#pragma once

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class AtenVarlenAttention final : public Attention {
public:
    using Attention::Attention;

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override;
};

}  // namespace switchyard
