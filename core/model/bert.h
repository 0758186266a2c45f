// BERT: an encoder with the heads of its tasks (Devlin et al. 2019, arXiv:1810.04805).
#pragma once

#include <optional>

#include <switchyard/model/embeddings.h>
#include <switchyard/model/model.h>
#include <switchyard/model/stack.h>
#include <switchyard/model/word_head.h>

namespace switchyard::model {

class Bert final : public Model {
public:
    Bert(const config::Config& config, Parameters& parameters);

    // tanh of a projection of each sequence's first token, [sequences, hidden].
    at::Tensor pool(const BoundPlan& plan, const at::Tensor& hidden, const Tokens& tokens) const;

    TaskResult task(const BoundPlan& plan, const ForwardContext& context, const Batch& batch,
                    const LossParams& loss) const override;
    at::Tensor hidden(const BoundPlan& plan, const ForwardContext& context,
                      const Batch& batch) const override;
    at::Tensor logits(const BoundPlan& plan, const ForwardContext& context,
                      const Batch& batch) const override;

private:
    Bert(const config::Config& config, Builder builder);
    at::Tensor masked_lm_hidden(const BoundPlan& plan, const ForwardContext& context,
                                const at::Tensor& rows) const;
    at::Tensor head_logits(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& hidden,
                           const Tokens& tokens) const;

    config::ModelConfig model_;
    config::TaskConfig task_;
    Embeddings embeddings_;
    Stack encoder_;
    std::optional<Linear> pooler_, classifier_, masked_lm_dense_;
    Norm masked_lm_norm_;
    WordHead masked_lm_;
};

}  // namespace switchyard::model
