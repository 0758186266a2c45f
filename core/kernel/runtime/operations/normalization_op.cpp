#include "core/kernel/runtime/operations/normalization_op.h"

#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/normalization.h>
#include "core/kernel/runtime/operation_observer.h"
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/operation_call.h"

namespace switchyard::runtime {
namespace {

constexpr std::array<const char*, 5> normalization_inputs{"x", "bias", "residual", "weight", "beta"};
constexpr std::array<const char*, 2> normalization_outputs{"y", "sum"};

struct NormalizationTraits {
    using Interface = Normalization;
    using Inputs = NormalizationInputs;
    using Params = NormalizationParams;
    using KeptParams = NormalizationParams;

    static constexpr runtime::Signature signature{"normalization.forward", "normalization.backward",
                                                  normalization_inputs, normalization_outputs, 0b11};

    static std::array<const at::Tensor*, 5> pointers(const Inputs& inputs) {
        return {&inputs.x, &inputs.bias, &inputs.residual, &inputs.weight, &inputs.beta};
    }
    static Inputs inputs_of(const Tensors& list) { return {list[0], list[1], list[2], list[3], list[4]}; }

    static void forward(Normalization& component, const Inputs& inputs, const Params& params,
                        Tensors& outputs, Saved* saved) {
        NormalizationOutputs made = component.forward(inputs, params, saved);
        outputs.push_back(std::move(made.y));
        outputs.push_back(std::move(made.sum));
    }
    static Tensors backward(Normalization& component, const Params& params, const Saved& saved,
                            const Tensors& grads, Needs needs) {
        // Only the sum was used: the contract lets grad_sum be undefined, not grad_y.
        const at::Tensor grad_y = grads[0].defined() ? grads[0] : at::zeros_like(grads[1]);
        NormalizationGrads made = component.backward(params, saved, grad_y, grads[1],
                                                     {needs[0], needs[1], needs[2], needs[3], needs[4]});
        return {std::move(made.x), std::move(made.bias), std::move(made.residual), std::move(made.weight),
                std::move(made.beta)};
    }
    static Tensors reference(const Inputs& inputs, const Params& params) {
        NormalizationOutputs made = reference::normalization(inputs, params);
        return {std::move(made.y), std::move(made.sum)};
    }
    static std::uint64_t versions(const Params& params) {
        return params.dropout.active() ? versions_of({&params.tokens.cu_seqlens, &params.tokens.lengths}) : 0;
    }
};

void check_row(const Binding<Normalization>& binding, const char* what, const at::Tensor& row,
               const at::Tensor& x) {
    if (!row.defined() || (row.dim() == 1 && row.size(0) == x.size(-1))) [[likely]]
        return;
    refuse(binding, what, " must be [", x.size(-1), "], the width of x ", x.sizes(), ", got ", row.sizes());
}

void check(const Binding<Normalization>& binding, const NormalizationInputs& in,
           const NormalizationParams& params) {
    const NormalizationRequest& request = binding.request();
    require_tensor(binding, "x", in.x);
    require(binding, in.x.dim() >= 1, "x must be [..., width], got a scalar");
    require(binding, params.norm == request.norm, "the norm is ", name(params.norm), ", bound for ",
            name(request.norm));
    const std::int64_t width = in.x.size(-1);
    require_within(binding, "width", width, request.width);
    require_within(binding, "rows", width == 0 ? 0 : in.x.numel() / width, request.rows);
    require(binding, in.weight.defined(), "weight [width] is not given");
    check_row(binding, "weight", in.weight, in.x);
    check_row(binding, "bias", in.bias, in.x);
    check_row(binding, "beta", in.beta, in.x);
    if (in.weight.scalar_type() != to_scalar_type(request.parameter_dtype)) [[unlikely]] {
        refuse(binding, "weight is ", in.weight.scalar_type(), ", bound for ", name(request.parameter_dtype));
    }
    require(binding, !in.beta.defined() || params.norm != NormKind::rms_norm, "rms_norm has no beta");
    if (in.residual.defined() && in.residual.sizes() != in.x.sizes()) [[unlikely]] {
        refuse(binding, "residual must have the shape of x ", in.x.sizes(), ", got ", in.residual.sizes());
    }
    if (params.dropout.active()) require_tokens(binding, in.x, params.tokens);
}

// Is what is left for the component what it is bound for?
void check_parts(const Binding<Normalization>& binding, const NormalizationInputs& in,
                 const NormalizationParams& params) {
    const NormalizationRequest& request = binding.request();
    require(binding, !in.bias.defined() || request.input_bias, "a bias is given, bound for calls without it");
    require(binding, !in.residual.defined() || request.residual,
            "a residual is given, bound for calls without it");
    require(binding, !params.dropout.active() || request.dropout > 0.0, "dropout is ", params.dropout.p,
            ", bound for calls without it");
    require(binding, !in.beta.defined() || request.affine_bias,
            "a beta is given, bound for calls without it");
}

NormalizationOutputs call_component(const std::shared_ptr<Binding<Normalization>>& binding,
                                    const NormalizationInputs& inputs, const NormalizationParams& params) {
    check_parts(*binding, inputs, params);
    Tensors outputs;
    call<NormalizationTraits>(binding, inputs, params, outputs);
    NormalizationOutputs made{std::move(outputs[0]), std::move(outputs[1])};
    const bool wide = inputs.bias.defined() || inputs.residual.defined() || params.dropout.active();
    if (!made.y.defined() || made.y.sizes() != inputs.x.sizes() ||
        made.y.scalar_type() != inputs.x.scalar_type()) {
        throw runtime::PluginError(binding->site("normalization.forward"), "returned a y that is not like x");
    }
    if (wide && (!made.sum.defined() || made.sum.sizes() != inputs.x.sizes())) {
        throw runtime::PluginError(binding->site("normalization.forward"), "returned no sum like x");
    }
    return made;
}

}  // namespace

NormalizationOp::NormalizationOp(const LoadedComponent& loaded, BindingInfo info,
                                 const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Normalization>>(loaded, std::move(info))) {
    check_binding(*binding_, composed, {"bias", "dropout", "residual"}, binding_->request().dropout);
    compose_residual_ = has_part(composed, "residual");
    compose_dropout_ = compose_residual_ || has_part(composed, "dropout");
    compose_bias_ = compose_dropout_ || has_part(composed, "bias");
}

NormalizationOutputs NormalizationOp::operator()(const NormalizationInputs& inputs,
                                                 const NormalizationParams& params) const {
    return shown(*this, inputs, params, run(inputs, params));
}

NormalizationOutputs NormalizationOp::run(const NormalizationInputs& inputs,
                                          const NormalizationParams& params) const {
    check(*binding_, inputs, params);
    if (!compose_bias_) return call_component(binding_, inputs, params);

    NormalizationInputs rest = inputs;
    NormalizationParams rest_params = params;
    if (inputs.bias.defined()) rest.x = (rest.x + inputs.bias).to(inputs.x.scalar_type());
    rest.bias.reset();
    if (compose_dropout_) {
        rest.x = reference::hidden_dropout(rest.x, params.dropout, params.tokens);
        rest_params.dropout = {};
    }
    if (compose_residual_ && inputs.residual.defined()) {
        rest.x = inputs.residual + rest.x;
        rest.residual.reset();
    }
    NormalizationOutputs made = call_component(binding_, rest, rest_params);
    const bool wide = inputs.bias.defined() || inputs.residual.defined() || params.dropout.active();
    if (wide && !made.sum.defined()) made.sum = rest.x;
    return made;
}

}  // namespace switchyard::runtime
