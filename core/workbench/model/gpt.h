// A causal decoder that predicts the next token: GPT-2 (Radford et al. 2019) and, with rotary positions,
// RMSNorm, a gated feed-forward and grouped heads, Llama (Touvron et al. 2023, arXiv:2302.13971 and
// 2307.09288). Every mix of these parts that [model] can say is served.
#pragma once

#include "core/workbench/model/embeddings.h"
#include "core/workbench/model/lm_head.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/stack.h"

namespace switchyard::model {

class Gpt final : public Model {
public:
    explicit Gpt(Builder& builder);

    StageState run(const StageState& from, const ForwardContext& context, const Batch& batch) const override;
    TaskResult task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& hidden,
                       const LossParams& loss) const override;
    StageState taken_in(Phase phase, const Batch& batch) const override;
    at::Tensor hidden(const ForwardContext& context, const Batch& batch) const override;
    at::Tensor logits_of(const ForwardContext& context, const Batch& batch,
                         const at::Tensor& hidden) const override;

    std::unique_ptr<DecodingCache> make_cache(const CacheLimits& limits) const override;
    at::Tensor prefill(const ForwardContext& context, const Batch& batch,
                       DecodingCache& cache) const override;
    at::Tensor decode(const ForwardContext& context, const at::Tensor& ids,
                      const CachedStep& step) const override;

private:
    at::Tensor hidden(const ForwardContext& context, const TokenBatch& tokens,
                      const at::Tensor& from = {}) const;

    Embeddings embeddings_;
    Stack decoder_;
    LmHead head_;
};

}  // namespace switchyard::model
