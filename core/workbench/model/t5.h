// T5: an encoder, and a decoder that attends to it (Raffel et al. 2020, arXiv:1910.10683). Of the first
// version with ReLU and one table of words for everything, and of version 1.1 with a gated feed-forward and
// an output projection of its own.
//
// As published: relative positions come from one table a stack, used by all its layers and by self-attention
// only; scores are not divided by sqrt(head_dim);
// RMSNorm and no bias anywhere; dropout after the last normalization too; where the output projection is the
// table of words, hidden states are multiplied by hidden_size^-1/2 before it.
#pragma once

#include "core/workbench/model/embeddings.h"
#include "core/workbench/model/lm_head.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/stack.h"

namespace switchyard::model {

class T5 final : public Model {
public:
    explicit T5(Builder& builder);

    // Throw std::invalid_argument for a batch without a target.
    StageState run(const StageState& from, const ForwardContext& context, const Batch& batch) const override;
    TaskResult task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& hidden,
                       const LossParams& loss) const override;
    StageState taken_in(Phase phase, const Batch& batch) const override;
    at::Tensor hidden(const ForwardContext& context, const Batch& batch) const override;
    at::Tensor logits_of(const ForwardContext& context, const Batch& batch,
                         const at::Tensor& hidden) const override;
    const TokenBatch& output_side(const Batch& batch) const override { return batch.target; }

    // The encoder runs, and its result is projected to keys and values, in prefill alone.
    std::unique_ptr<DecodingCache> make_cache(const CacheLimits& limits) const override;
    at::Tensor prefill(const ForwardContext& context, const Batch& batch,
                       DecodingCache& cache) const override;
    at::Tensor decode(const ForwardContext& context, const at::Tensor& ids,
                      const CachedStep& step) const override;

    // The two halves of hidden(): a generator runs the first once. `memory` is what encode() gave for
    // `source`; `from`: what of that stack a stage before has made, undefined where it begins here.
    at::Tensor encode(const ForwardContext& context, const TokenBatch& source,
                      const at::Tensor& from = {}) const;
    at::Tensor decode(const ForwardContext& context, const TokenBatch& target, const at::Tensor& memory,
                      const Tokens& source, const at::Tensor& from = {}) const;

private:
    PipelineStage stage_;
    Embeddings embeddings_;  // of both sides
    Stack encoder_, decoder_;
    LmHead head_;
};

}  // namespace switchyard::model
