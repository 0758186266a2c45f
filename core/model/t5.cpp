#include <switchyard/model/t5.h>

#include <cmath>
#include <stdexcept>

namespace switchyard::model {

T5::T5(const config::Config& config, Parameters& parameters) : T5(config, Builder(config, parameters)) {}

T5::T5(const config::Config& config, Builder builder)
    : embeddings_(builder, config),
      encoder_(builder, config, config::Stack::encoder),
      decoder_(builder, config, config::Stack::decoder),
      head_(builder, config, embeddings_.words()) {
    if (config.model.tie_embeddings)
        head_.set_scale(1.0 / std::sqrt(static_cast<double>(config.model.hidden_size)));
}

at::Tensor T5::encode(const BoundPlan& plan, const ForwardContext& context, const TokenBatch& source) const {
    const auto embedded = embeddings_(plan, context, source, config::Stack::encoder);
    context.observe("embeddings", embedded);
    auto memory = encoder_(plan, context, embedded, source.tokens);
    context.observe("encoder", memory);
    return memory;
}

at::Tensor T5::decode(const BoundPlan& plan, const ForwardContext& context, const TokenBatch& target,
                      const at::Tensor& memory, const Tokens& source) const {
    const auto embedded = embeddings_(plan, context, target, config::Stack::decoder);
    context.observe("target embeddings", embedded);
    auto hidden = decoder_(plan, context, embedded, target.tokens, memory, source);
    context.observe("decoder", hidden);
    return hidden;
}

at::Tensor T5::hidden(const BoundPlan& plan, const ForwardContext& context, const Batch& batch) const {
    if (!batch.target.ids.defined())
        throw std::invalid_argument("a t5 needs a second sequence for its decoder: the batch has no target");
    const auto memory = encode(plan, context, batch.source);
    return decode(plan, context, batch.target, memory, batch.source.tokens);
}

at::Tensor T5::logits(const BoundPlan& plan, const ForwardContext& context, const Batch& batch) const {
    return head_.logits(plan, hidden(plan, context, batch));
}

TaskResult T5::task(const BoundPlan& plan, const ForwardContext& context, const Batch& batch,
                    const LossParams& loss) const {
    return head_.task(plan, context, hidden(plan, context, batch), batch.labels, loss);
}

}  // namespace switchyard::model
