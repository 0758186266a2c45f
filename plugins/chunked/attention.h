// Attention over chunks: the scores of a few queries at a time, never the whole matrix.
//
// Forward: the online softmax of Milakov & Gimelshein 2018 (arXiv:1805.02867) over chunks of keys, as in Rabe
// & Staats 2021 ("Self-attention Does Not Need O(n^2) Memory", arXiv:2112.05682). Backward: probabilities
// made again from the saved largest scores and sums, row sums from grad_out * out (Dao et al. 2022,
// arXiv:2205.14135, section 3.1 and appendix B.2).
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class ChunkedAttention final : public Attention {
public:
    explicit ChunkedAttention(const CreateInfo& info);
    void* query(std::string_view id) override {
        return component_property(id, {{slow_here_property, slow_.c_str()}});
    }

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override;

private:
    std::string slow_;
    std::int64_t chunk_size_;
    std::int64_t key_chunk_size_;
};

}  // namespace switchyard
