#include "core/workbench/model/t5.h"

#include <cmath>
#include <stdexcept>

#include "core/workbench/model/sequences.h"

namespace switchyard::model {

T5::T5(Builder& builder)
    : stage_(builder.stage()),
      embeddings_(builder),
      encoder_(builder, config::Stack::encoder),
      decoder_(builder, config::Stack::decoder),
      head_(builder, embeddings_.token_table()) {
    const auto& model = builder.config().model;
    if (model.tie_embeddings) head_.set_scale(1.0 / std::sqrt(static_cast<double>(model.hidden_size)));
}

at::Tensor T5::encode(const ForwardContext& context, const TokenBatch& source, const at::Tensor& from) const {
    auto x = from;
    if (!x.defined()) {
        x = embeddings_(context, source, config::Stack::encoder);
        context.observe("embeddings", x);
    }
    auto memory = encoder_(context, x, source.tokens);
    context.observe("encoder", memory);
    return memory;
}

at::Tensor T5::decode(const ForwardContext& context, const TokenBatch& target, const at::Tensor& memory,
                      const Tokens& source, const at::Tensor& from) const {
    auto x = from;
    if (!x.defined()) {
        x = embeddings_(context, target, config::Stack::decoder);
        context.observe("target embeddings", x);
    }
    auto hidden = decoder_(context, x, target.tokens, memory, source);
    context.observe("decoder", hidden);
    return hidden;
}

namespace {

void require_target(const Batch& batch) {
    if (!batch.target.ids.defined())
        throw std::invalid_argument("a t5 needs a second sequence for its decoder: the batch has no target");
}

}  // namespace

StageState T5::run(const StageState& from, const ForwardContext& context, const Batch& batch) const {
    require_target(batch);
    auto state = from;
    if (stage_.has(config::Stack::encoder)) {
        auto made = encode(context, batch.source, from.hidden);
        if (!stage_.ends(config::Stack::encoder)) return {made, {}};
        state = {{}, made};
    }
    if (!stage_.has(config::Stack::decoder)) return state;
    return {decode(context, batch.target, state.memory, batch.source.tokens, state.hidden),
            stage_.is_last() ? at::Tensor() : state.memory};
}

StageState T5::taken_in(Phase phase, const Batch& batch) const {
    require_target(batch);
    if (stage_.has(config::Stack::encoder)) return {encoder_.taken_in(phase, batch.source), {}};
    return {decoder_.taken_in(phase, batch.target), encoder_.result(phase, batch.source)};
}

at::Tensor T5::hidden(const ForwardContext& context, const Batch& batch) const {
    return run({}, context, batch).hidden;
}

at::Tensor T5::logits_of(const ForwardContext& context, const Batch&, const at::Tensor& hidden) const {
    return head_.logits(context, hidden);
}

TaskResult T5::task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& hidden,
                       const LossParams& loss) const {
    return head_.task(context, hidden, batch.labels, loss);
}

std::unique_ptr<DecodingCache> T5::make_cache(const CacheLimits& limits) const {
    const auto self = decoder_.cache_shape(limits, false);
    const auto cross = decoder_.cache_shape(limits, true);
    require_memory({self, cross});
    return std::make_unique<DecodingCache>(make_kv_cache(self), make_kv_cache(cross));
}

at::Tensor T5::prefill(const ForwardContext& context, const Batch& batch, DecodingCache& cache) const {
    require_target(batch);
    auto plain = context;
    plain.phase = Phase::prefill;
    const auto memory = encode(plain, batch.source);
    const auto step = cache.begin(batch.target, &batch.source);
    const auto cached = context.generating(Phase::prefill, step);
    const auto hidden = decode(cached, batch.target, memory, batch.source.tokens);
    return head_.logits(cached, last_tokens(hidden, batch.target.tokens));
}

at::Tensor T5::decode(const ForwardContext& context, const at::Tensor& ids, const CachedStep& step) const {
    const auto cached = context.generating(Phase::decode, step);
    TokenBatch tokens;
    tokens.ids = ids;
    const auto hidden = decode(cached, tokens, {}, {});
    return head_.logits(cached, hidden).view({ids.size(0), ids.size(1), -1});
}

}  // namespace switchyard::model
