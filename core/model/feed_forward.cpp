#include <switchyard/model/feed_forward.h>

#include <switchyard/host/calling/call_observer.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::model {

FeedForward::FeedForward(Builder& builder, const config::LayerConfig& layer, const config::LayerId& id)
    : model_(layer.model), id_(id) {
    const auto base = config::to_string(id) + ".feed_forward.";
    const auto inner = model_.intermediate_size * (is_gated(model_.activation) ? 2 : 1);
    in_ = builder.linear(base + "in", model_.hidden_size, inner, LinearRole::feed_forward_in, id.index);
    out_ = builder.linear(base + "out", model_.intermediate_size, model_.hidden_size,
                          LinearRole::feed_forward_out, id.index);
}

Delta FeedForward::operator()(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& x,
                              const Tokens& tokens, bool keep_bias) const {
    const host::PlaceScope place([&] { return config::to_string(id_) + ".feed_forward"; });
    const auto& precision = plan.precision();
    const auto& activation = plan.activation("activation", context.phase, &id_);
    ActivationInputs inputs;
    if (activation.fuses_bias()) {
        inputs = {in_.without_bias(x, precision), in_.bias};
    } else {
        inputs = {in_(x, precision), {}};
    }
    inputs.x = inputs.x.to(to_scalar_type(precision.compute(OpClass::activation, config::to_string(id_))));

    ActivationParams params;
    params.activation = model_.activation;
    params.tokens = tokens;
    // T5 drops within the feed-forward; the others only at its end, which is the next normalization's part.
    if (model_.type == config::ModelType::t5) {
        params.dropout = context.dropout(model_.dropout, DropoutSite::activation, id_.stack, id_.index);
    }
    const auto y = activation(inputs, params);
    if (!keep_bias) return {out_(y, precision), {}};
    return {out_.without_bias(y, precision), out_.bias};
}

}  // namespace switchyard::model
