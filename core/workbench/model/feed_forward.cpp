#include "core/workbench/model/feed_forward.h"

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/dropout_mask.h>
#include "core/kernel/runtime/call_observer.h"

namespace switchyard::model {

FeedForward::FeedForward(Builder& builder, const config::LayerConfig& layer, const config::LayerId& id)
    : model_(layer.model), id_(id), part_(builder.part()) {
    const auto base = config::to_string(id) + ".feed_forward.";
    builder.begin_part("feed-forward", &id);
    const std::int64_t halves = is_gated(model_.activation) ? 2 : 1;
    const LinearCut in_cut{LinearCut::out, halves}, out_cut{LinearCut::in};
    in_ = builder.linear({base + "in", LinearRole::feed_forward_in, layer.linear, id, false, in_cut},
                         model_.hidden_size, halves * model_.intermediate_size, model_.bias);
    out_ = builder.linear({base + "out", LinearRole::feed_forward_out, layer.linear, id, false, out_cut},
                          model_.intermediate_size, model_.hidden_size, model_.bias);
    model_.intermediate_size /= part_.parts;
    const auto inner = halves * model_.intermediate_size;
    activation_ = builder.slot<runtime::ActivationOp>(
        {Kind::activation, "activation", config::to_string(id), layer.activation, id},
        [&](const Requests& requests, Phase phase) {
            auto r = requests.make<ActivationRequest>(OpClass::activation, config::to_string(id), phase,
                                                      layer.activation);
            r.activation = model_.activation;
            r.custom = model_.custom_activation;
            r.rows = requests.rows(phase);
            r.width = model_.intermediate_size;
            r.input_bias = model_.bias;
            r.dropout = phase == Phase::train && drops_inside() && part_.whole() ? model_.dropout : 0.0;
            return r;
        });
    const auto width = model_.hidden_size;
    builder.add_costs(builder.tokens(),
                      inner + model_.intermediate_size + width + builder.kept_between_blocks(width));
}

// T5 drops within the feed-forward; the others only at its end, which is the next normalization's part.
bool FeedForward::drops_inside() const { return model_.type == config::ModelType::t5; }

Delta FeedForward::operator()(const ForwardContext& context, const at::Tensor& x, const Tokens& tokens,
                              bool keep_bias) const {
    const runtime::PlaceScope place([&] { return config::to_string(id_) + ".feed_forward"; });
    const auto& activation = activation_[context.phase];
    ActivationInputs inputs;
    if (activation.fuses_bias()) {
        inputs = {in_.without_bias(context.phase, x), in_.bias};
    } else {
        inputs = {in_(context.phase, x), {}};
    }
    inputs.x = inputs.x.to(to_scalar_type(activation_.dtype(context.phase)));

    ActivationParams params;
    params.activation = model_.activation;
    params.tokens = tokens;
    Dropout dropout;
    if (drops_inside())
        dropout = context.dropout(model_.dropout, DropoutSite::activation, id_.stack, id_.index);
    if (part_.whole()) params.dropout = dropout;
    auto y = activation(inputs, params);
    // An activation counts channels from its own first one.
    if (!part_.whole())
        y = reference::hidden_dropout(y, dropout, tokens, part_.index * model_.intermediate_size);
    if (!keep_bias) return {out_(context.phase, y), {}};
    return {out_.without_bias(context.phase, y), out_.bias};
}

}  // namespace switchyard::model
