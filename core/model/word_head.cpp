#include <switchyard/model/word_head.h>

#include <memory>

#include <ATen/ops/nonzero.h>

#include <switchyard/host/calling/call_observer.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::model {

WordHead::WordHead(Builder& builder, const config::Config& config, const at::Tensor& words)
    : project_all_(config.task.project_all), fused_(config.loss.projection) {
    const auto& model = config.model;
    const auto name = config::head_of(config.task);
    if (model.tie_embeddings) {
        out_.weight = words;
        out_.site = std::make_shared<const LinearSite>(LinearSite{name, 0, model.layers});
    } else {
        out_ = builder.linear(name, model.hidden_size, model.vocab_size, LinearRole::head, 0, false);
    }
}

LabelledRows WordHead::rows(const at::Tensor& hidden, const at::Tensor& labels,
                            std::int64_t ignore_index) const {
    LabelledRows result{hidden.reshape({-1, hidden.size(-1)}), labels.reshape({-1})};
    if (project_all_) return result;
    const auto labelled = at::nonzero(result.targets.ne(ignore_index)).squeeze(1);
    if (labelled.size(0) == result.targets.size(0)) return result;
    return {result.x.index_select(0, labelled), result.targets.index_select(0, labelled)};
}

at::Tensor WordHead::scaled(const at::Tensor& x) const { return scale_ == 1.0 ? x : x.mul(scale_); }

at::Tensor WordHead::logits(const BoundPlan& plan, const at::Tensor& hidden) const {
    return out_(scaled(hidden.reshape({-1, hidden.size(-1)})), plan.precision());
}

TaskResult WordHead::loss(const BoundPlan& plan, const ForwardContext& context, const LabelledRows& rows,
                          const LossParams& params) const {
    const auto dtype = to_scalar_type(plan.precision().compute(OpClass::loss, out_.site->name));
    const host::PlaceScope place([] { return "loss"; });
    TaskResult result;
    result.targets = rows.targets;
    if (fused_) {
        const auto bias = out_.bias.defined() ? out_.bias.to(dtype) : out_.bias;
        result.loss = plan.loss(context.phase)(
            {scaled(rows.x).to(dtype), out_.weight.to(dtype), bias, rows.targets}, params);
    } else {
        result.logits = logits(plan, rows.x);
        result.loss = plan.loss(context.phase)({result.logits.to(dtype), {}, {}, rows.targets}, params);
        if (params.logits_given_up) result.logits.reset();
    }
    return result;
}

}  // namespace switchyard::model
