#include <switchyard/model/bert.h>

#include <switchyard/host/calling/call_observer.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/model/sequences.h>
#include <switchyard/reference/dropout_mask.h>

namespace switchyard::model {
namespace {

using config::TaskKind;

}  // namespace

Bert::Bert(const config::Config& config, Parameters& parameters)
    : Bert(config, Builder(config, parameters)) {}

Bert::Bert(const config::Config& config, Builder builder)
    : model_(config.model),
      task_(config.task),
      embeddings_(builder, config),
      encoder_(builder, config, config::Stack::encoder) {
    const auto width = model_.hidden_size;
    if (task_.kind == TaskKind::classification || task_.kind == TaskKind::next_sentence) {
        pooler_ = builder.linear("pooler", width, width, LinearRole::head, 0, true);
    }
    if (task_.kind != TaskKind::masked_lm) {
        classifier_ = builder.linear(config::head_of(task_), width, task_.classes(model_.vocab_size),
                                     LinearRole::head, 0, true);
    } else {
        masked_lm_dense_ = builder.linear("masked_lm.dense", width, width, LinearRole::head, 0, true);
        masked_lm_norm_ = builder.norm("masked_lm.norm");
        masked_lm_ = WordHead(builder, config, embeddings_.words());
        masked_lm_.set_bias(builder.zeros("masked_lm.bias", model_.vocab_size));
    }
}

at::Tensor Bert::hidden(const BoundPlan& plan, const ForwardContext& context, const Batch& batch) const {
    const auto embedded = embeddings_(plan, context, batch.source, config::Stack::encoder);
    context.observe("embeddings", embedded);
    auto hidden = encoder_(plan, context, embedded, batch.source.tokens);
    context.observe("encoder", hidden);
    return hidden;
}

at::Tensor Bert::pool(const BoundPlan& plan, const at::Tensor& hidden, const Tokens& tokens) const {
    return (*pooler_)(first_tokens(hidden, tokens), plan.precision()).tanh();
}

at::Tensor Bert::masked_lm_hidden(const BoundPlan& plan, const ForwardContext& context,
                                  const at::Tensor& rows) const {
    const host::PlaceScope place([] { return "masked_lm"; });
    const auto& precision = plan.precision();
    ActivationParams activation;
    activation.activation = model_.activation;
    const auto activated = plan.activation("activation.head", context.phase)(
        {(*masked_lm_dense_)(rows, precision), {}}, activation);
    NormalizationParams norm;
    norm.norm = model_.norm;
    norm.eps = model_.norm_eps;
    const auto dtype = to_scalar_type(precision.compute(OpClass::normalization, "model"));
    const host::PlaceScope norm_place([&] { return masked_lm_norm_.name; });
    return plan
        .normalization("normalization.head", context.phase, config::Stack::encoder)(
            {activated.to(dtype), {}, {}, masked_lm_norm_.weight, masked_lm_norm_.beta}, norm)
        .y;
}

at::Tensor Bert::head_logits(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& hidden,
                             const Tokens& tokens) const {
    const auto& precision = plan.precision();
    if (task_.kind == TaskKind::masked_lm) {
        return masked_lm_.logits(plan,
                                 masked_lm_hidden(plan, context, hidden.reshape({-1, model_.hidden_size})));
    }
    const auto dropout = context.dropout(model_.dropout, DropoutSite::head);
    if (task_.kind == TaskKind::token_classification) {
        return (*classifier_)(
            reference::hidden_dropout(hidden, dropout, tokens).reshape({-1, model_.hidden_size}), precision);
    }
    // One row a sequence: a sequence of length one each, as dropout counts positions.
    Tokens rows;
    rows.first_document = tokens.first_document;
    const auto pooled = pool(plan, hidden, tokens).unsqueeze(1);
    return (*classifier_)(reference::hidden_dropout(pooled, dropout, rows).squeeze(1), precision);
}

at::Tensor Bert::logits(const BoundPlan& plan, const ForwardContext& context, const Batch& batch) const {
    return head_logits(plan, context, hidden(plan, context, batch), batch.source.tokens);
}

TaskResult Bert::task(const BoundPlan& plan, const ForwardContext& context, const Batch& batch,
                      const LossParams& loss) const {
    const auto states = hidden(plan, context, batch);
    if (task_.kind == TaskKind::masked_lm) {
        auto rows = masked_lm_.rows(states, batch.labels, loss.ignore_index);
        rows.x = masked_lm_hidden(plan, context, rows.x);
        return masked_lm_.loss(plan, context, rows, loss);
    }
    TaskResult result;
    result.logits = head_logits(plan, context, states, batch.source.tokens);
    result.targets = batch.labels.reshape({-1});
    const auto dtype = to_scalar_type(plan.precision().compute(OpClass::loss, config::head_of(task_)));
    const host::PlaceScope place([] { return "loss"; });
    result.loss = plan.loss(context.phase)({result.logits.to(dtype), {}, {}, result.targets}, loss);
    if (loss.logits_given_up) result.logits.reset();
    return result;
}

}  // namespace switchyard::model
