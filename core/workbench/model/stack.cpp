#include "core/workbench/model/stack.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <ATen/ops/add.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/numeric.h>
#include "core/kernel/runtime/backward_hook.h"
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/cache/planned_cache.h"
#include "core/workbench/model/layer_parameters.h"
#include "core/workbench/model/norm_slots.h"
#include "core/workbench/model/sequences.h"
#include "core/workbench/model/tensor_ranks.h"
#include "core/workbench/model/token_share.h"

namespace switchyard::model {
namespace {

constexpr std::int64_t relative_buckets = 32;  // T5's, all sizes

std::string place_of(DropoutSite site) {
    if (site == DropoutSite::attention_out) return ".attention";
    return site == DropoutSite::cross_out ? ".cross" : ".feed_forward";
}

bool is_pre(const config::ModelConfig& model) { return model.norm_position == config::NormPosition::pre; }

}  // namespace

Stack::Stack(Builder& builder, config::Stack which)
    : which_(which),
      model_(builder.config().model),
      part_(builder.part()),
      shares_tokens_(builder.shares_tokens()),
      range_(builder.stage().layers(which)),
      device_(builder.config().run.device),
      cache_(builder.config().cache),
      precision_(builder.precision()) {
    const std::string at(name(which));
    if (model_.positions == config::Positions::t5) {
        builder.begin_part(at + " relative bias");
        tables_.relative_bias = builder.parameter(
            at + ".relative_bias", {relative_buckets, model_.heads},
            {Initial::normal, 1.0 / std::sqrt(static_cast<double>(model_.hidden_size))}, builder.cut(1));
    }
    if (model_.positions == config::Positions::alibi)
        tables_.slopes = builder.constant([&] { return builder.cut(0).own(alibi_slopes(model_.heads)); });
    if (model_.positions == config::Positions::rotary) {
        auto& rotary = tables_.rotary;
        rotary.cos = builder.constant([&] {
            rotary = rotary_table(model_);
            return rotary.cos;
        });
        rotary.sin = builder.constant([&] { return rotary.sin; });
    }
    for (std::int64_t index = 0; index < model_.layers_of(which); ++index)
        layers_.push_back(make_layer(builder, {which, index}));
    if (!is_pre(model_)) return;
    builder.begin_part(at + " final norm");
    final_norm_ = builder.norm(at + ".norm");
    final_norm_op_ =
        wide_norm(builder, {"normalization.final", at, model_, builder.config().normalization, {}, true});
    builder.add_costs(builder.tokens(), builder.kept_between_blocks(model_.hidden_size));
}

Stack::Layer Stack::make_layer(Builder& builder, const config::LayerId& id) const {
    const auto layer = builder.config().layer(id);
    const auto base = config::to_string(id);
    const bool has_cross = which_ == config::Stack::decoder && model_.has_cross_attention();
    const bool has_bias = model_.positions == config::Positions::t5;
    const auto begin = builder.count();
    AttentionBlock attention(builder, layer, id, false);
    auto attention_parameters = builder.made_since(begin);
    if (has_bias) attention_parameters.push_back(tables_.relative_bias);
    auto attention_norm = builder.norm(base + ".attention.norm");
    std::optional<AttentionBlock> cross;
    std::vector<at::Tensor> cross_parameters;
    Norm cross_norm;
    if (has_cross) {
        const auto cross_begin = builder.count();
        cross.emplace(builder, layer, id, true);
        cross_parameters = builder.made_since(cross_begin);
        cross_norm = builder.norm(base + ".cross.norm");
    }
    const auto feed_forward_begin = builder.count();
    FeedForward feed_forward(builder, layer, id);
    auto feed_forward_parameters = builder.made_since(feed_forward_begin);
    auto feed_forward_norm = builder.norm(base + ".feed_forward.norm");
    auto parameters = builder.made_since(begin);
    if (has_bias) parameters.push_back(tables_.relative_bias);
    const NormPlace place{"normalization", base, layer.model, layer.normalization, id, true};
    auto first = place;
    first.slot = id.index == 0 ? "normalization.first" : taking_over_slot;
    auto norm_op = wide_norm(builder, place);
    const bool nothing_waits = id.index == 0 || builder.stage().takes_over(id);
    auto first_norm_op = is_pre(layer.model) && nothing_waits ? plain_norm(builder, first) : norm_op;
    return {id,
            layer.model,
            std::move(attention),
            std::move(cross),
            std::move(feed_forward),
            attention_norm,
            cross_norm,
            feed_forward_norm,
            std::move(norm_op),
            std::move(first_norm_op),
            std::move(attention_parameters),
            std::move(cross_parameters),
            std::move(feed_forward_parameters),
            std::move(parameters)};
}

at::Tensor Stack::normalize(const Call& call, const Slot<runtime::NormalizationOp>& slot,
                            const config::ModelConfig& model, const Norm& norm, Stream& stream) const {
    const runtime::PlaceScope place([&] { return norm.name; });
    const auto& op = slot[call.context.phase];
    const auto dtype = to_scalar_type(slot.dtype(call.context.phase));
    NormalizationParams params;
    params.norm = model.norm;
    params.eps = model.norm_eps;
    params.tokens = call.tokens;
    const auto& share = call.share;
    NormalizationInputs inputs;
    inputs.weight = share.parameter(norm.weight);
    inputs.beta = share.parameter(norm.beta);
    if (!stream.delta.x.defined()) {
        inputs.x = stream.residual.to(dtype);
        return op(inputs, params).y;
    }
    inputs.x = stream.delta.x.to(dtype);
    inputs.bias = stream.delta.bias;
    inputs.residual = stream.residual.to(dtype);
    params.dropout = call.context.dropout(model.dropout, stream.site, which_, stream.layer);
    if (!share.all())
        inputs.x = share.dropped(inputs.x, std::exchange(params.dropout, Dropout()), call.tokens);
    auto outputs = op(inputs, params);
    stream.residual = is_pre(model) ? std::move(outputs.sum) : outputs.y;
    stream.delta = {};
    return outputs.y;
}

at::Tensor Stack::layer_norm(const Call& call, const Layer& layer, const Norm& norm, Stream& stream) const {
    const bool first = !stream.delta.x.defined();
    return normalize(call, first ? layer.first_norm : layer.norm, layer.model, norm, stream);
}

// Whoever normalizes next adds the bias if its kernel does that at no cost; else the projection does.
bool Stack::keeps_bias(const Call& call, const Layer& layer) {
    return call.share.all() && layer.norm[call.context.phase].fuses_bias();
}

runtime::Segment Stack::segment() const {
    runtime::Segment segment;
    segment.recomputing = [precision = precision_](bool on) { precision->set_recompute(on); };
    segment.device = device_;
    return segment;
}

Delta Stack::together(const Call& call, const at::Tensor& x, const at::Tensor& bias, bool keep_bias) const {
    const auto sum = call.share.out_of_parts(x);
    if (keep_bias) return {sum, bias};
    return {bias.defined() ? at::add(sum, call.share.parameter(bias).to(sum.scalar_type())) : sum, {}};
}

Delta Stack::attend(const SharedCall& call, const Layer& layer, const AttentionBlock& block, Stream& stream,
                    bool keep_bias) const {
    const bool cross = &block != &layer.attention;
    const bool leaves_bias = keep_bias || !part_.whole();
    // What runs again takes in own tokens, so that those of all are gathered again and not kept.
    const bool gathers = !call->share.all();
    const auto run = [=, &block](AttentionSources from) {
        if (gathers) from.query = call->share.into_parts(from.query);
        if (gathers && !cross) from.key = from.value = from.query;
        return block(call->context, call->positions, from, call->tokens,
                     cross ? call->memory_tokens : call->tokens, leaves_bias);
    };
    const auto x = gathers ? stream.y : call->share.into_parts(stream.y);
    AttentionSources from{x, x, x};
    if (cross) from = {x, stream.memory_key, stream.memory_value};
    if (gathers && !cross) from = {x, {}, {}};
    at::Tensor y;
    if (!call->context.recomputes(config::Recompute::attention, layer.id.index)) {
        y = run(from).x;
    } else {
        auto again = segment();
        again.run = [run](const std::vector<at::Tensor>& inputs) {
            return std::vector<at::Tensor>{run({inputs[2], inputs[1], inputs[0]}).x};
        };
        // The order in which autograd would reach them: values were projected last.
        y = runtime::run_recomputed(again, {from.value, from.key, from.query},
                                    cross ? layer.cross_parameters : layer.attention_parameters)[0];
    }
    if (!part_.whole()) return together(*call, y, block.bias(), keep_bias);
    return {y, keep_bias ? block.bias() : at::Tensor()};
}

Delta Stack::feed_forward(const SharedCall& call, const Layer& layer, Stream& stream, bool keep_bias) const {
    const bool leaves_bias = keep_bias || !part_.whole();
    const bool gathers = !call->share.all();
    const auto run = [=, &layer](const at::Tensor& x) {
        return layer
            .feed_forward(call->context, gathers ? call->share.into_parts(x) : x, call->tokens, leaves_bias)
            .x;
    };
    const auto x = gathers ? stream.y : call->share.into_parts(stream.y);
    at::Tensor y;
    if (!call->context.recomputes(config::Recompute::feed_forward, layer.id.index)) {
        y = run(x);
    } else {
        auto again = segment();
        again.run = [run](const std::vector<at::Tensor>& inputs) {
            return std::vector<at::Tensor>{run(inputs[0])};
        };
        y = runtime::run_recomputed(again, {x}, layer.feed_forward_parameters)[0];
    }
    if (!part_.whole()) return together(*call, y, layer.feed_forward.bias(), keep_bias);
    return {y, keep_bias ? layer.feed_forward.bias() : at::Tensor()};
}

template <class Compute>
void Stack::block(const Call& call, const Layer& layer, const Norm& norm, DropoutSite site, Stream& stream,
                  const Compute& compute) const {
    const bool pre = is_pre(model_);
    if (pre) stream.y = layer_norm(call, layer, norm, stream);
    stream.delta = compute(keeps_bias(call, layer));
    if (call.context.observer != nullptr)
        call.context.observe(config::to_string(layer.id) + place_of(site), stream.delta.x);
    stream.site = site;
    stream.layer = layer.id.index;
    if (!pre) stream.y = layer_norm(call, layer, norm, stream);
}

void Stack::run_layer(const SharedCall& call, const Layer& layer, Stream& stream) const {
    block(*call, layer, layer.attention_norm, DropoutSite::attention_out, stream,
          [&](bool keep_bias) { return attend(call, layer, layer.attention, stream, keep_bias); });
    if (layer.cross) {
        block(*call, layer, layer.cross_norm, DropoutSite::cross_out, stream,
              [&](bool keep_bias) { return attend(call, layer, *layer.cross, stream, keep_bias); });
    }
    block(*call, layer, layer.feed_forward_norm, DropoutSite::feed_forward_out, stream,
          [&](bool keep_bias) { return feed_forward(call, layer, stream, keep_bias); });
    if (!is_pre(model_)) call->context.observe(config::to_string(layer.id), stream.y);
}

// With pre-norm what flows on is the residual and what waits; with post-norm it is the last result alone.
void Stack::run_layer_twice(const SharedCall& call, const Layer& layer, Stream& stream) const {
    const bool pre = is_pre(model_);
    auto again = segment();
    again.run = [=, this, &layer, site = stream.site,
                 number = stream.layer](const std::vector<at::Tensor>& inputs) {
        Stream inner;
        inner.site = site;
        inner.layer = number;
        inner.residual = inputs[0];
        inner.y = inputs[0];
        inner.delta = {inputs[1], inputs[2]};
        inner.memory_value = inputs[3];
        inner.memory_key = inputs[4];
        run_layer(call, layer, inner);
        return pre ? std::vector<at::Tensor>{inner.residual, inner.delta.x}
                   : std::vector<at::Tensor>{inner.y};
    };
    const std::vector<at::Tensor> inputs{stream.residual, stream.delta.x, stream.delta.bias,
                                         stream.memory_value, stream.memory_key};
    const auto outputs = runtime::run_recomputed(again, inputs, layer.parameters);
    stream.residual = outputs[0];
    stream.y = outputs[0];
    if (!pre) return;
    stream.delta = {outputs[1], keeps_bias(*call, layer) ? layer.feed_forward.bias() : at::Tensor()};
    stream.site = DropoutSite::feed_forward_out;
    stream.layer = layer.id.index;
}

void Stack::hook(Stream& stream, std::function<void()> hook) {
    const auto followed = runtime::with_backward_hook({stream.residual, stream.delta.x}, std::move(hook));
    stream.residual = stream.y = followed[0];
    stream.delta.x = followed[1];
}

// Looked up once for all layers. Broadcast over heads: [seq, D], [batch, 1, seq, D], or packed [total, 1, D].
PositionTables Stack::positions_of(const ForwardContext& context, const Tokens& tokens,
                                   const at::Tensor& embedded) const {
    PositionTables positions = tables_;
    if (model_.positions != config::Positions::rotary) return positions;
    const auto at = token_positions(context, tokens, embedded.size(-2), embedded.device());
    const auto heads = tokens.layout == Layout::packed || at.dim() == 2;
    for (auto* table : {&positions.rotary.cos, &positions.rotary.sin}) {
        *table = at::embedding(*table, at);
        if (heads) *table = table->unsqueeze(1);
    }
    return positions;
}

CacheShape Stack::cache_shape(const CacheLimits& limits, bool cross) const {
    auto shape = model::cache_shape(model_, cache_, device_, limits, cross);
    for (const auto& layer : layers_)
        shape.dtypes.push_back(to_scalar_type((cross ? *layer.cross : layer.attention).dtype(Phase::decode)));
    return shape;
}

// As the next normalization would take in what waits.
at::Tensor Stack::handed_on(const Call& call, Stream& stream) const {
    const auto& layer = layers_[static_cast<std::size_t>(range_.end - 1)];
    const auto dtype = to_scalar_type(layer.norm.dtype(call.context.phase));
    if (!is_pre(model_)) return stream.y.to(dtype);
    const auto wide = reference::wide_type(dtype);
    auto x = stream.delta.x.to(wide);
    if (stream.delta.bias.defined()) x = x.add(stream.delta.bias.to(wide));
    x = call.share.dropped(x, call.context.dropout(layer.model.dropout, stream.site, which_, stream.layer),
                           call.tokens);
    return stream.residual.to(wide).add(x).to(dtype);
}

at::Tensor Stack::states_of(const TokenBatch& batch, at::ScalarType dtype) const {
    auto sizes = batch.ids.sizes().vec();
    sizes.push_back(model_.hidden_size);
    return at::empty(sizes, at::dtype(dtype).device(batch.ids.device()));
}

at::Tensor Stack::taken_in(Phase phase, const TokenBatch& batch) const {
    if (range_.begin == 0) return {};
    const auto& before = layers_[static_cast<std::size_t>(range_.begin - 1)];
    return states_of(batch, to_scalar_type(before.norm.dtype(phase)));
}

at::Tensor Stack::result(Phase phase, const TokenBatch& batch) const {
    return states_of(batch,
                     to_scalar_type((is_pre(model_) ? final_norm_op_ : layers_.back().norm).dtype(phase)));
}

at::Tensor Stack::operator()(const ForwardContext& context, const at::Tensor& embedded, const Tokens& tokens,
                             const at::Tensor& memory, const Tokens& memory_tokens) const {
    if (!part_.whole() && context.ranks == nullptr)
        throw std::logic_error("a part of a model runs with the ranks alone that have the others");
    const auto share =
        shares_tokens_ ? TokenShare(context.ranks, part_, embedded.sizes()) : TokenShare(context.ranks);
    const auto call = std::make_shared<const Call>(
        Call{context, tokens, memory_tokens, positions_of(context, tokens, embedded), share});
    Stream stream;
    stream.residual = stream.y = share.own(embedded);
    stream.memory_key = stream.memory_value = into_parts(memory, context.ranks);
    for (auto index = range_.begin; index < range_.end; ++index) {
        const auto& layer = layers_[static_cast<std::size_t>(index)];
        auto* const parameters = context.layers;
        const auto there = parameters != nullptr ? parameters->in_forward(layer.id) : nullptr;
        if (parameters != nullptr)
            hook(stream, [parameters, id = layer.id] { parameters->after_backward(id); });
        if (context.recomputes(config::Recompute::layers, layer.id.index))
            run_layer_twice(call, layer, stream);
        else
            run_layer(call, layer, stream);
        if (parameters != nullptr)
            hook(stream, [parameters, id = layer.id] { parameters->before_backward(id); });
    }
    if (range_.end < static_cast<std::int64_t>(layers_.size()))
        return share.gathered(handed_on(*call, stream));
    if (!is_pre(model_)) return share.gathered(stream.y);
    auto y = normalize(*call, final_norm_op_, model_, final_norm_, stream);
    if (model_.type == config::ModelType::t5)
        y = share.dropped(y, context.dropout(model_.dropout, DropoutSite::final_norm, which_), tokens);
    return share.gathered(y);
}

}  // namespace switchyard::model
