#include "core/workbench/model/lm_head.h"

#include <memory>
#include <string>

#include <ATen/ops/_assert_async.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/stack.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/loss.h>
#include <switchyard/reference/numeric.h>
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
    builder.add_costs(builder.tokens(), model.vocab_size);
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

// The component's loss of a row whose target is the first of the own words is the logarithm of the sum over
// them less the first logit: so it is the one that computes here too.
TaskResult LmHead::loss_of_parts(const ForwardContext& context, const LabelledRows& rows,
                                 const LossParams& params) const {
    const auto& op = loss_[context.phase];
    const auto dtype = to_scalar_type(loss_.dtype(context.phase));
    const auto input = into_parts(scaled(rows.x), context.ranks);
    const runtime::PlaceScope place([] { return "loss"; });
    const auto& targets = rows.targets;
    const auto ignored = targets.eq(params.ignore_index);
    const auto x =
        reference::without_ignored(out_(context.phase, input).to(dtype), targets, params.ignore_index);
    const auto own = x.size(1);
    // No part would miss a word that is none of any. On a device this waits for nothing, as the components'
    // own checks do not.
    at::_assert_async(
        targets.ge(0).logical_and_(targets.lt(own * cut_.part.parts)).logical_or_(ignored).all(),
        "a target of the loss is not a word of the vocabulary of " + std::to_string(own * cut_.part.parts));
    LossParams of_rows;
    of_rows.reduction = Reduction::none;
    of_rows.ignore_index = params.ignore_index;
    const auto loss = op({x, {}, {}, targets.masked_fill(ignored.logical_not(), 0)}, of_rows).loss;
    const auto wide = reference::wide(x);
    const auto target = targets.sub(cut_.part.index * own);
    const auto foreign = target.lt(0).logical_or_(target.ge(own));
    const auto chosen = wide.gather(1, target.masked_fill(foreign, 0).unsqueeze(1)).squeeze(1);
    const auto of_part =
        at::stack({loss.add(wide.select(1, 0)), chosen.masked_fill(foreign, 0.0), wide.sum(1)}, 1);
    const auto of_all = columns_of_parts(of_part, cut_.part, context.ranks).view({-1, cut_.part.parts, 3});
    const auto lse = of_all.select(2, 0).logsumexp(1);
    auto each = lse.sub(of_all.select(2, 1).sum(1));
    if (params.label_smoothing > 0.0) {
        const auto mean = of_all.select(2, 2).sum(1).div(static_cast<double>(own * cut_.part.parts));
        each = each.mul(1.0 - params.label_smoothing).add(lse.sub(mean), params.label_smoothing);
    }
    if (params.z_loss > 0.0) each = each.add(lse.square(), params.z_loss);
    TaskResult result;
    result.targets = targets;
    result.loss.count = ignored.logical_not().sum();
    each = each.masked_fill(ignored, 0.0);
    result.loss.loss = params.reduction == Reduction::none ? each : each.sum();
    if (params.reduction == Reduction::mean)
        result.loss.loss = result.loss.loss.div(result.loss.count.clamp_min(1));
    else if (params.divisor > 0.0)
        result.loss.loss = result.loss.loss.div(params.divisor);
    return result;
}

TaskResult LmHead::loss(const ForwardContext& context, const LabelledRows& rows,
                        const LossParams& params) const {
    if (!cut_.whole() && context.phase == Phase::train) return loss_of_parts(context, rows, params);
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
