// Tiled attention for the CPU: the scores of 64 queries against some hundred keys at a time, which never
// leave the cache.
//
// Dao et al. 2022 (arXiv:2205.14135) and Dao 2023 (arXiv:2307.08691): online softmax, backward from each
// row's largest score and sum. Matrix products by LibTorch's brgemm (oneDNN's kernels made at run time); what
// is between them in vectors (row_kernels.h).
//
// For a CUDA device the same component is the one of the plugin's second library (cuda/component.cpp).
#pragma once

#include <memory>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class FlashAttention final : public Attention {
public:
    explicit FlashAttention(const CreateInfo& info);

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, why_not_captured_},
                                       {computes_in_property, computed_in_},
                                       {thread_counts_property, ""}});
    }

private:
    const char* why_not_captured_;
    const char* computed_in_ = nullptr;
    std::unique_ptr<Attention> on_cuda_;
};

}  // namespace switchyard
