#include "core/workbench/model/bert.h"

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/loss_slot.h"
#include "core/workbench/model/norm_slots.h"
#include "core/workbench/model/sequences.h"

namespace switchyard::model {
namespace {

using config::TaskKind;

}  // namespace

Bert::Bert(Builder& builder)
    : model_(builder.config().model),
      task_(builder.config().task),
      embeddings_(builder),
      encoder_(builder, config::Stack::encoder) {
    const auto width = model_.hidden_size;
    if (task_.kind == TaskKind::masked_lm) {
        add_masked_lm(builder);
        return;
    }
    const auto rows = task_.label_per_token() ? builder.tokens() : builder.config().batch.size;
    const auto classes = task_.classes(model_.vocab_size);
    const auto& slot = builder.config().linear;
    builder.begin_part("head", nullptr, task_.label_per_token() ? Unit::source : Unit::sequences);
    if (task_.kind != TaskKind::token_classification)
        pooler_ = builder.linear({"pooler", LinearRole::head, slot}, width, width, true);
    classifier_ =
        builder.linear({std::string(config::head_of(task_)), LinearRole::head, slot}, width, classes, true);
    builder.add_costs(rows, classes);
    loss_ = loss_slot(builder);
}

// A projection, an activation and a normalization before the words.
void Bert::add_masked_lm(Builder& builder) {
    const auto& config = builder.config();
    const auto width = model_.hidden_size;
    builder.begin_part("head transform", nullptr, task_.project_all ? Unit::source : Unit::labels);
    masked_lm_dense_ =
        builder.linear({"masked_lm.dense", LinearRole::head, config.linear}, width, width, true);
    masked_lm_activation_ = builder.slot<runtime::ActivationOp>(
        {Kind::activation, "activation.head", "model", config.activation},
        [&](const Requests& requests, Phase phase) {
            auto r = requests.make<ActivationRequest>(OpClass::activation, "model", phase, config.activation);
            r.activation = model_.activation;
            r.custom = model_.custom_activation;
            r.rows = Range(0, requests.rows(phase).max);
            r.width = width;
            return r;
        });
    masked_lm_norm_ = builder.norm("masked_lm.norm");
    masked_lm_normalize_ =
        head_norm(builder, {"normalization.head", "encoder", model_, config.normalization});
    masked_lm_ = LmHead(builder, embeddings_.token_table(), true);
    masked_lm_.set_bias(
        builder.parameter("masked_lm.bias", {model_.vocab_size}, {Initial::zeros}, builder.word_cut()));
}

StageState Bert::run(const StageState& from, const ForwardContext& context, const Batch& batch) const {
    auto x = from.hidden;
    if (!x.defined()) {
        x = embeddings_(context, batch.source, config::Stack::encoder);
        context.observe("embeddings", x);
    }
    auto hidden = encoder_(context, x, batch.source.tokens);
    context.observe("encoder", hidden);
    return {hidden, {}};
}

StageState Bert::taken_in(Phase phase, const Batch& batch) const {
    return {encoder_.taken_in(phase, batch.source), {}};
}

at::Tensor Bert::hidden(const ForwardContext& context, const Batch& batch) const {
    return run({}, context, batch).hidden;
}

at::Tensor Bert::pool(Phase phase, const at::Tensor& hidden, const Tokens& tokens) const {
    const auto first = (*pooler_)(phase, first_tokens(hidden, tokens));
    return model_.pooler == config::Pooler::relu ? first.relu() : first.tanh();
}

at::Tensor Bert::masked_lm_hidden(const ForwardContext& context, const at::Tensor& rows) const {
    const runtime::PlaceScope place([] { return "masked_lm"; });
    ActivationParams activation;
    activation.activation = model_.activation;
    const auto activated =
        masked_lm_activation_[context.phase]({(*masked_lm_dense_)(context.phase, rows), {}}, activation);
    NormalizationParams norm;
    norm.norm = model_.norm;
    norm.eps = model_.norm_eps;
    const auto x = activated.to(to_scalar_type(masked_lm_normalize_.dtype(context.phase)));
    const runtime::PlaceScope norm_place([&] { return masked_lm_norm_.name; });
    return masked_lm_normalize_[context.phase]({x, {}, {}, masked_lm_norm_.weight, masked_lm_norm_.beta},
                                               norm)
        .y;
}

at::Tensor Bert::head_logits(const ForwardContext& context, const at::Tensor& hidden,
                             const Tokens& tokens) const {
    if (task_.kind == TaskKind::masked_lm) {
        return masked_lm_.logits(context,
                                 masked_lm_hidden(context, hidden.reshape({-1, model_.hidden_size})));
    }
    const auto dropout = context.dropout(model_.dropout, DropoutSite::head);
    if (task_.kind == TaskKind::token_classification) {
        return (*classifier_)(
            context.phase,
            reference::hidden_dropout(hidden, dropout, tokens).reshape({-1, model_.hidden_size}));
    }
    // One row a sequence: a sequence of length one each, as dropout counts positions.
    Tokens rows;
    rows.first_document = tokens.first_document;
    const auto pooled = pool(context.phase, hidden, tokens).unsqueeze(1);
    return (*classifier_)(context.phase, reference::hidden_dropout(pooled, dropout, rows).squeeze(1));
}

at::Tensor Bert::logits_of(const ForwardContext& context, const Batch& batch,
                           const at::Tensor& hidden) const {
    return head_logits(context, hidden, batch.source.tokens);
}

TaskResult Bert::task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& states,
                         const LossParams& loss) const {
    if (task_.kind == TaskKind::masked_lm) {
        auto rows = masked_lm_.rows(states, batch.labels, loss.ignore_index);
        rows.x = masked_lm_hidden(context, rows.x);
        return masked_lm_.loss(context, rows, loss);
    }
    TaskResult result;
    result.logits = head_logits(context, states, batch.source.tokens);
    const auto dtype = to_scalar_type(loss_.dtype(context.phase));
    result.targets = task_.float_labels() ? batch.float_labels.to(reference::wide_type(dtype))
                                          : batch.labels.reshape({-1});
    const runtime::PlaceScope place([] { return "loss"; });
    result.loss = loss_[context.phase]({result.logits.to(dtype), {}, {}, result.targets}, loss);
    if (loss.may_overwrite_logits) result.logits.reset();
    return result;
}

}  // namespace switchyard::model
