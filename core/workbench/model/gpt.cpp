#include "core/workbench/model/gpt.h"

namespace switchyard::model {

Gpt::Gpt(Builder& builder)
    : embeddings_(builder),
      decoder_(builder, config::Stack::decoder),
      head_(builder, embeddings_.token_table()) {}

at::Tensor Gpt::hidden(const ForwardContext& context, const Batch& batch) const {
    const auto embedded = embeddings_(context, batch.source, config::Stack::decoder);
    context.observe("embeddings", embedded);
    auto hidden = decoder_(context, embedded, batch.source.tokens);
    context.observe("decoder", hidden);
    return hidden;
}

at::Tensor Gpt::logits(const ForwardContext& context, const Batch& batch) const {
    return head_.logits(context.phase, hidden(context, batch));
}

TaskResult Gpt::task(const ForwardContext& context, const Batch& batch, const LossParams& loss) const {
    return head_.task(context, hidden(context, batch), batch.labels, loss);
}

}  // namespace switchyard::model
