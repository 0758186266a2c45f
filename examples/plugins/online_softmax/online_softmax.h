// Exact attention by blocks of keys: Milakov & Gimelshein 2018, "Online normalizer calculation for softmax"
// (arXiv:1805.02867); Rabe & Staats 2021, "Self-attention does not need O(n^2) memory" (arXiv:2112.05682).
//
// A row of scores is seen a block at a time. What is kept of the blocks before are their largest score m, the
// sum l of exp(s - m), and the sum o of exp(s - m) v; where a block has a larger score, l and o are scaled to
// it:
//
//     m' = max(m, max of the block)
//     l  = l exp(m - m') + sum exp(s - m')
//     o  = o exp(m - m') + sum exp(s - m') v
//
// and the output is o / l. Memory is linear in the number of queries. Backward makes the scores again: with m
// and l a probability is exp(s - m) / l.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

class OnlineSoftmax final : public switchyard::Attention {
public:
    explicit OnlineSoftmax(const switchyard::CreateInfo& info);

    static switchyard::Verdict supports(const switchyard::AttentionRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    // Keeps q, k, v, the output, m and l in `saved`.
    switchyard::AttentionOutputs forward(const switchyard::AttentionInputs& inputs,
                                         const switchyard::AttentionParams& params,
                                         switchyard::Saved* saved) override;
    switchyard::AttentionGrads backward(const switchyard::AttentionParams& params,
                                        const switchyard::Saved& saved, const at::Tensor& grad_out,
                                        const switchyard::AttentionNeeds& needs) override;

    void* query(std::string_view question) override {
        using namespace switchyard;
        return component_property(question, {{computes_in_property, "fp32"}, {thread_counts_property, ""}});
    }

private:
    std::int64_t key_block_;
};
