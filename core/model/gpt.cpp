#include <switchyard/model/gpt.h>

namespace switchyard::model {

Gpt::Gpt(const config::Config& config, Parameters& parameters) : Gpt(config, Builder(config, parameters)) {}

Gpt::Gpt(const config::Config& config, Builder builder)
    : embeddings_(builder, config),
      decoder_(builder, config, config::Stack::decoder),
      head_(builder, config, embeddings_.words()) {}

at::Tensor Gpt::hidden(const BoundPlan& plan, const ForwardContext& context, const Batch& batch) const {
    const auto embedded = embeddings_(plan, context, batch.source, config::Stack::decoder);
    context.observe("embeddings", embedded);
    auto hidden = decoder_(plan, context, embedded, batch.source.tokens);
    context.observe("decoder", hidden);
    return hidden;
}

at::Tensor Gpt::logits(const BoundPlan& plan, const ForwardContext& context, const Batch& batch) const {
    return head_.logits(plan, hidden(plan, context, batch));
}

TaskResult Gpt::task(const BoundPlan& plan, const ForwardContext& context, const Batch& batch,
                     const LossParams& loss) const {
    return head_.task(plan, context, hidden(plan, context, batch), batch.labels, loss);
}

}  // namespace switchyard::model
