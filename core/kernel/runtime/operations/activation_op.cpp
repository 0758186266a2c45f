#include "core/kernel/runtime/operations/activation_op.h"

#include <array>

#include <ATen/TensorOperators.h>

#include <switchyard/reference/activation.h>
#include <switchyard/reference/dropout_mask.h>
#include "core/kernel/runtime/operation_observer.h"
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/operation_call.h"

namespace switchyard::runtime {
namespace {

constexpr std::array<const char*, 2> activation_inputs{"x", "bias"};
constexpr std::array<const char*, 1> activation_outputs{"y"};

struct ActivationTraits {
    using Interface = Activation;
    using Inputs = ActivationInputs;
    using Params = ActivationParams;
    using KeptParams = ActivationParams;

    static constexpr runtime::Signature signature{"activation.forward", "activation.backward",
                                                  activation_inputs, activation_outputs, 0b1};

    static std::array<const at::Tensor*, 2> pointers(const Inputs& inputs) {
        return {&inputs.x, &inputs.bias};
    }
    static Inputs inputs_of(const Tensors& list) { return {list[0], list[1]}; }

    static void forward(Activation& component, const Inputs& inputs, const Params& params, Tensors& outputs,
                        Saved* saved) {
        outputs.push_back(component.forward(inputs, params, saved));
    }
    static Tensors backward(Activation& component, const Params& params, const Saved& saved,
                            const Tensors& grads, Needs needs) {
        ActivationGrads made = component.backward(params, saved, grads[0], {needs[0], needs[1]});
        return {std::move(made.x), std::move(made.bias)};
    }
    static Tensors reference(const Inputs& inputs, const Params& params) {
        return {reference::activation(inputs, params)};
    }
    static std::uint64_t versions(const Params& params) {
        return params.dropout.active() ? versions_of({&params.tokens.cu_seqlens, &params.tokens.lengths}) : 0;
    }
};

void check(const Binding<Activation>& binding, const ActivationInputs& in, const ActivationParams& params) {
    const ActivationRequest& request = binding.request();
    require_tensor(binding, "x", in.x);
    require(binding, in.x.dim() >= 1, "x must be [..., width], got a scalar");
    require(binding, params.activation == request.activation, "the activation is ", name(params.activation),
            ", bound for ", name(request.activation));
    const std::int64_t channels = in.x.size(-1);
    const bool gated = is_gated(params.activation);
    require(binding, !gated || channels % 2 == 0, name(params.activation), " needs x [..., 2 * width], got ",
            in.x.sizes());
    require_within(binding, "width", gated ? channels / 2 : channels, request.width);
    require_within(binding, "rows", channels == 0 ? 0 : in.x.numel() / channels, request.rows);
    if (in.bias.defined() && (in.bias.dim() != 1 || in.bias.size(0) != channels)) [[unlikely]] {
        refuse(binding, "bias must be [", channels, "], the last dimension of x, got ", in.bias.sizes());
    }
    if (params.dropout.active()) require_tokens(binding, in.x, params.tokens);
}

at::Tensor call_component(const std::shared_ptr<Binding<Activation>>& binding, const ActivationInputs& inputs,
                          const ActivationParams& params) {
    const ActivationRequest& request = binding->request();
    require(*binding, !inputs.bias.defined() || request.input_bias,
            "a bias is given, bound for calls without it");
    require(*binding, !params.dropout.active() || request.dropout > 0.0, "dropout is ", params.dropout.p,
            ", bound for calls without it");
    Tensors outputs;
    call<ActivationTraits>(binding, inputs, params, outputs);
    const at::Tensor& y = outputs[0];
    const std::int64_t values = is_gated(params.activation) ? inputs.x.numel() / 2 : inputs.x.numel();
    if (!y.defined() || y.numel() != values || y.scalar_type() != inputs.x.scalar_type()) {
        throw runtime::PluginError(binding->site("activation.forward"), "returned a y that does not fit x");
    }
    return std::move(outputs[0]);
}

}  // namespace

ActivationOp::ActivationOp(const LoadedComponent& loaded, BindingInfo info,
                           const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Activation>>(loaded, std::move(info))) {
    check_binding(*binding_, composed, {"bias", "dropout"}, binding_->request().dropout);
    compose_bias_ = has_part(composed, "bias");
    compose_dropout_ = has_part(composed, "dropout");
}

at::Tensor ActivationOp::operator()(const ActivationInputs& inputs, const ActivationParams& params) const {
    return shown(*this, inputs, params, run(inputs, params));
}

at::Tensor ActivationOp::run(const ActivationInputs& inputs, const ActivationParams& params) const {
    check(*binding_, inputs, params);
    if (!compose_bias_ && !compose_dropout_) return call_component(binding_, inputs, params);

    ActivationInputs rest = inputs;
    ActivationParams rest_params = params;
    if (compose_bias_ && inputs.bias.defined()) {
        rest.x = (inputs.x + inputs.bias).to(inputs.x.scalar_type());
        rest.bias.reset();
    }
    if (compose_dropout_) rest_params.dropout = {};
    const at::Tensor y = call_component(binding_, rest, rest_params);
    return compose_dropout_ ? reference::hidden_dropout(y, params.dropout, params.tokens) : y;
}

}  // namespace switchyard::runtime
