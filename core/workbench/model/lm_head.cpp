#include "core/workbench/model/lm_head.h"

#include <memory>

#include <ATen/ops/nonzero.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/loss_slot.h"
#include "core/workbench/model/tensor_ranks.h"

namespace switchyard::model {

LmHead::LmHead(Builder& builder, const at::Tensor& words, bool bias)
    : cut_(builder.word_cut()),
      project_all_(builder.config().task.project_all),
      fused_(builder.config().loss.projection) {
    const auto& config = builder.config();
    const auto& model = config.model;
    LinearPlace place{std::string(config::head_of(config.task)), LinearRole::head, config.linear};
    if (!cut_.whole()) place.cut.side = LinearCut::out;
    builder.begin_part("head", nullptr, project_all_ ? builder.output_side() : Unit::labels);
    if (model.tie_embeddings) {
        out_ = builder.tied_linear(place, words, model.hidden_size, model.vocab_size / cut_.part.parts, bias);
    } else {
        out_ = builder.linear(place, model.hidden_size, model.vocab_size, false);
    }
    builder.add_costs(builder.tokens() * model.vocab_size);
    loss_ = loss_slot(builder);
}

LabelledRows LmHead::rows(const at::Tensor& hidden, const at::Tensor& labels,
                          std::int64_t ignore_index) const {
    LabelledRows result{hidden.reshape({-1, hidden.size(-1)}), labels.reshape({-1})};
    if (project_all_) return result;
    const auto labelled = at::nonzero(result.targets.ne(ignore_index)).squeeze(1);
    if (labelled.size(0) == result.targets.size(0)) return result;
    return {result.x.index_select(0, labelled), result.targets.index_select(0, labelled)};
}

at::Tensor LmHead::scaled(const at::Tensor& x) const { return scale_ == 1.0 ? x : x.mul(scale_); }

at::Tensor LmHead::logits(const ForwardContext& context, const at::Tensor& hidden) const {
    const auto x = scaled(hidden.reshape({-1, hidden.size(-1)}));
    if (cut_.whole()) return out_(context.phase, x);
    return columns_of_parts(out_(context.phase, into_parts(x, context.ranks)), cut_.part, context.ranks);
}

TaskResult LmHead::loss(const ForwardContext& context, const LabelledRows& rows,
                        const LossParams& params) const {
    const auto& op = loss_[context.phase];
    const auto dtype = to_scalar_type(loss_.dtype(context.phase));
    const runtime::PlaceScope place([] { return "loss"; });
    TaskResult result;
    result.targets = rows.targets;
    if (fused_) {
        const auto bias = out_.bias.defined() ? out_.bias.to(dtype) : out_.bias;
        result.loss = op({scaled(rows.x).to(dtype), out_.weight.to(dtype), bias, rows.targets}, params);
    } else {
        result.logits = logits(context, rows.x);
        result.loss = op({result.logits.to(dtype), {}, {}, rows.targets}, params);
        if (params.may_overwrite_logits) result.logits.reset();
    }
    return result;
}

}  // namespace switchyard::model
