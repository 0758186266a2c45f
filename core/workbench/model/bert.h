// BERT: an encoder with the heads of its tasks (Devlin et al. 2019, arXiv:1810.04805).
#pragma once

#include <optional>

#include "core/workbench/model/embeddings.h"
#include "core/workbench/model/lm_head.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/stack.h"

namespace switchyard::model {

class Bert final : public Model {
public:
    explicit Bert(Builder& builder);

    // tanh of a projection of each sequence's first token, [sequences, hidden].
    at::Tensor pool(Phase phase, const at::Tensor& hidden, const Tokens& tokens) const;

    StageState run(const StageState& from, const ForwardContext& context, const Batch& batch) const override;
    TaskResult task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& hidden,
                       const LossParams& loss) const override;
    StageState taken_in(Phase phase, const Batch& batch) const override;
    at::Tensor hidden(const ForwardContext& context, const Batch& batch) const override;
    at::Tensor logits_of(const ForwardContext& context, const Batch& batch,
                         const at::Tensor& hidden) const override;

private:
    void add_masked_lm(Builder& builder);
    at::Tensor masked_lm_hidden(const ForwardContext& context, const at::Tensor& rows) const;
    at::Tensor head_logits(const ForwardContext& context, const at::Tensor& hidden,
                           const Tokens& tokens) const;

    config::ModelConfig model_;
    config::TaskConfig task_;
    Embeddings embeddings_;
    Stack encoder_;
    std::optional<Linear> pooler_, classifier_, masked_lm_dense_;
    Slot<runtime::ActivationOp> masked_lm_activation_;
    Norm masked_lm_norm_;
    Slot<runtime::NormalizationOp> masked_lm_normalize_;
    LmHead masked_lm_;
    Slot<runtime::LossOp> loss_;  // of the classifier
};

}  // namespace switchyard::model
