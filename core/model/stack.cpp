#include <switchyard/model/stack.h>

#include <cmath>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/dropout_mask.h>

namespace switchyard::model {
namespace {

constexpr std::int64_t relative_buckets = 32;  // T5's, all sizes

std::string place_of(DropoutSite site) {
    if (site == DropoutSite::attention_out) return ".attention";
    return site == DropoutSite::cross_out ? ".cross" : ".feed_forward";
}

bool is_pre(const config::ModelConfig& model) { return model.norm_position == config::NormPosition::pre; }

}  // namespace

Stack::Stack(Builder& builder, const config::Config& config, config::Stack which)
    : which_(which), model_(config.model) {
    if (model_.positions == config::Positions::t5) {
        tables_.relative_bias =
            builder.table(std::string(name(which)) + ".relative_bias", relative_buckets, model_.heads,
                          1.0 / std::sqrt(static_cast<double>(model_.hidden_size)));
    }
    const auto device = to_device_type(config.run.device);
    if (model_.positions == config::Positions::alibi) tables_.slopes = alibi_slopes(model_.heads).to(device);
    if (model_.positions == config::Positions::rotary) {
        tables_.rotary = rotary_table(model_.max_positions, model_.head_dim, model_.rotary_theta);
        tables_.rotary.cos = tables_.rotary.cos.to(device);
        tables_.rotary.sin = tables_.rotary.sin.to(device);
    }
    for (std::int64_t index = 0; index < model_.layers_of(which); ++index)
        layers_.push_back(make_layer(builder, config, {which, index}));
    if (is_pre(model_)) final_norm_ = builder.norm(std::string(name(which)) + ".norm");
}

Stack::Layer Stack::make_layer(Builder& builder, const config::Config& config,
                               const config::LayerId& id) const {
    const auto layer = config.layer(id);
    const auto base = config::to_string(id);
    const bool has_cross = which_ == config::Stack::decoder && model_.has_cross_attention();
    AttentionBlock attention(builder, layer, id, false);
    auto attention_norm = builder.norm(base + ".attention.norm");
    std::optional<AttentionBlock> cross;
    Norm cross_norm;
    if (has_cross) {
        cross.emplace(builder, layer, id, true);
        cross_norm = builder.norm(base + ".cross.norm");
    }
    FeedForward feed_forward(builder, layer, id);
    auto feed_forward_norm = builder.norm(base + ".feed_forward.norm");
    return {id,
            layer.model,
            std::move(attention),
            std::move(cross),
            std::move(feed_forward),
            attention_norm,
            cross_norm,
            feed_forward_norm};
}

at::Tensor Stack::normalize(const Call& call, const NormalizationOp& op, const config::ModelConfig& model,
                            const Norm& norm, Stream& stream) const {
    const auto dtype =
        to_scalar_type(call.plan.precision().compute(OpClass::normalization, std::string(name(which_))));
    NormalizationParams params;
    params.norm = model.norm;
    params.eps = model.norm_eps;
    params.tokens = call.tokens;
    NormalizationInputs inputs;
    inputs.weight = norm.weight;
    inputs.beta = norm.beta;
    if (!stream.delta.x.defined()) {
        inputs.x = stream.residual.to(dtype);
        return op(inputs, params).y;
    }
    inputs.x = stream.delta.x.to(dtype);
    inputs.bias = stream.delta.bias;
    inputs.residual = stream.residual.to(dtype);
    params.dropout = call.context.dropout(model.dropout, stream.site, which_, stream.layer);
    auto outputs = op(inputs, params);
    stream.residual = is_pre(model) ? std::move(outputs.sum) : outputs.y;
    stream.delta = {};
    return outputs.y;
}

at::Tensor Stack::layer_norm(const Call& call, const Layer& layer, const Norm& norm, Stream& stream) const {
    const bool first = !stream.delta.x.defined();
    const auto& op = call.plan.normalization(first ? "normalization.first" : "normalization",
                                             call.context.phase, which_, &layer.id);
    return normalize(call, op, layer.model, norm, stream);
}

// Whoever normalizes next adds the bias if its kernel does that at no cost; else the projection does.
bool Stack::keeps_bias(const Call& call, const config::LayerId& id) const {
    return call.plan.normalization("normalization", call.context.phase, which_, &id).fuses_bias();
}

at::Tensor Stack::operator()(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& embedded,
                             const Tokens& tokens, const at::Tensor& memory,
                             const Tokens& memory_tokens) const {
    const Call call{plan, context, tokens};
    Stream stream{embedded, {}, DropoutSite::attention_out, 0};
    at::Tensor y = embedded;
    const bool pre = is_pre(model_);

    const auto block = [&](const Layer& layer, const Norm& norm, DropoutSite site, const auto& compute) {
        const bool keep_bias = keeps_bias(call, layer.id);
        if (pre) y = layer_norm(call, layer, norm, stream);
        stream.delta = compute(keep_bias);
        if (context.observer != nullptr)
            context.observe(config::to_string(layer.id) + place_of(site), stream.delta.x);
        stream.site = site;
        stream.layer = layer.id.index;
        if (!pre) y = layer_norm(call, layer, norm, stream);
    };
    for (const auto& layer : layers_) {
        block(layer, layer.attention_norm, DropoutSite::attention_out, [&](bool keep_bias) {
            return layer.attention(plan, context, tables_, y, tokens, y, tokens, keep_bias);
        });
        if (layer.cross) {
            block(layer, layer.cross_norm, DropoutSite::cross_out, [&](bool keep_bias) {
                return (*layer.cross)(plan, context, tables_, y, tokens, memory, memory_tokens, keep_bias);
            });
        }
        block(layer, layer.feed_forward_norm, DropoutSite::feed_forward_out,
              [&](bool keep_bias) { return layer.feed_forward(plan, context, y, tokens, keep_bias); });
        if (!pre) context.observe(config::to_string(layer.id), y);
    }
    if (!pre) return y;
    y = normalize(call, plan.normalization("normalization.final", context.phase, which_), model_, final_norm_,
                  stream);
    if (model_.type != config::ModelType::t5) return y;
    return reference::hidden_dropout(y, context.dropout(model_.dropout, DropoutSite::final_norm, which_),
                                     tokens);
}

}  // namespace switchyard::model
