#include "core/workbench/model/gpt.h"

#include "core/workbench/model/sequences.h"

namespace switchyard::model {

Gpt::Gpt(Builder& builder)
    : embeddings_(builder),
      decoder_(builder, config::Stack::decoder),
      head_(builder, embeddings_.token_table()) {}

at::Tensor Gpt::hidden(const ForwardContext& context, const Batch& batch) const {
    return hidden(context, batch.source);
}

at::Tensor Gpt::hidden(const ForwardContext& context, const TokenBatch& tokens,
                       const at::Tensor& from) const {
    auto x = from;
    if (!x.defined()) {
        x = embeddings_(context, tokens, config::Stack::decoder);
        context.observe("embeddings", x);
    }
    auto hidden = decoder_(context, x, tokens.tokens);
    context.observe("decoder", hidden);
    return hidden;
}

at::Tensor Gpt::logits_of(const ForwardContext& context, const Batch&, const at::Tensor& hidden) const {
    return head_.logits(context, hidden);
}

StageState Gpt::run(const StageState& from, const ForwardContext& context, const Batch& batch) const {
    return {hidden(context, batch.source, from.hidden), {}};
}

StageState Gpt::taken_in(Phase phase, const Batch& batch) const {
    return {decoder_.taken_in(phase, batch.source), {}};
}

TaskResult Gpt::task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& hidden,
                        const LossParams& loss) const {
    return head_.task(context, hidden, batch.labels, loss);
}

std::unique_ptr<DecodingCache> Gpt::make_cache(const CacheLimits& limits) const {
    const auto shape = decoder_.cache_shape(limits, false);
    require_memory({shape});
    return std::make_unique<DecodingCache>(make_kv_cache(shape), nullptr);
}

at::Tensor Gpt::prefill(const ForwardContext& context, const Batch& batch, DecodingCache& cache) const {
    const auto step = cache.begin(batch.source, nullptr);
    const auto cached = context.generating(Phase::prefill, step);
    return head_.logits(cached, last_tokens(hidden(cached, batch.source), batch.source.tokens));
}

at::Tensor Gpt::decode(const ForwardContext& context, const at::Tensor& ids, const CachedStep& step) const {
    const auto cached = context.generating(Phase::decode, step);
    TokenBatch tokens;
    tokens.ids = ids;
    return head_.logits(cached, hidden(cached, tokens)).view({ids.size(0), ids.size(1), -1});
}

}  // namespace switchyard::model
