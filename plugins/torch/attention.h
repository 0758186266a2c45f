// Attention by LibTorch's scaled_dot_product_attention, which picks a kernel by itself; the one that it
// picked is reported.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

#include "attention_mask.h"
#include "packed_lengths.h"
#include "sdpa.h"

namespace switchyard {

class TorchAttention final : public Attention {
public:
    explicit TorchAttention(const CreateInfo& info);
    void* query(std::string_view id) override {
        return component_property(
            id, {{graph_capture_property, why_not_captured_}, {slow_here_property, slow_.c_str()}});
    }

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;

private:
    SdpaResult attend(const at::Tensor& q_BHND, const at::Tensor& k_BKMD, const at::Tensor& v_BKME,
                      const SdpaMask& mask, const AttentionParams& params);
    AttentionOutputs padded(const AttentionInputs& inputs, const AttentionParams& params);
    AttentionOutputs packed(const AttentionInputs& inputs, const AttentionParams& params);
    AttentionOutputs packed_of_one_length(const AttentionInputs& inputs, const AttentionParams& params);
    AttentionOutputs packed_one_by_one(const AttentionInputs& inputs, const AttentionParams& params);

    const char* why_not_captured_;
    std::string slow_;
    SdpaKernel kernel_;
    AttentionMasks masks_;
    PackedLengths lengths_q_, lengths_k_;
};

}  // namespace switchyard
