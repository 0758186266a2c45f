// BERT: an encoder with the heads of its tasks (Devlin et al. 2019, arXiv:1810.04805).
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include <switchyard/config/config.h>
#include <switchyard/interfaces/batch.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/model/embeddings.h>
#include <switchyard/model/stack.h>

namespace switchyard::model {

// One batch through a model and its task's loss.
struct TaskResult {
    LossOutputs loss;
    at::Tensor logits;   // [rows, classes]; undefined where the loss projects by itself
    at::Tensor targets;  // [rows], -100 where there is no label
};

class Bert {
public:
    Bert(const config::Config& config, Parameters& parameters);

    // [batch, seq, hidden] or [total, hidden]
    at::Tensor encode(const BoundPlan& plan, const ForwardContext& context, const TokenBatch& batch) const;

    // tanh of a projection of each sequence's first token, [sequences, hidden].
    at::Tensor pool(const BoundPlan& plan, const at::Tensor& hidden, const Tokens& tokens) const;

    // [sequences, classes] or, for tasks with a label for each token, [tokens, classes] with all tokens in a row.
    at::Tensor logits(const BoundPlan& plan, const ForwardContext& context, const TokenBatch& batch) const;

    TaskResult task(const BoundPlan& plan, const ForwardContext& context, const Batch& batch,
                    const LossParams& loss) const;

private:
    Bert(const config::Config& config, Builder builder);
    at::Tensor masked_lm_hidden(const BoundPlan& plan, const ForwardContext& context,
                                const at::Tensor& rows) const;
    at::Tensor head_logits(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& hidden,
                           const Tokens& tokens) const;
    TaskResult masked_lm(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& hidden,
                         const at::Tensor& labels, const LossParams& loss) const;

    config::ModelConfig model_;
    config::TaskConfig task_;
    bool fused_projection_;
    Embeddings embeddings_;
    Stack encoder_;
    std::optional<Linear> pooler_, classifier_, masked_lm_dense_;
    Norm masked_lm_norm_;
    Linear masked_lm_out_;  // weight tied to the embeddings, or its own
};

}  // namespace switchyard::model
