// A right activation with a backward written by hand - and, with a mutation, one that is wrong in one way.
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/verdict.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>

#include "component.h"

namespace switchyard::test {
namespace {

using reference::wide;

// act(x) and its derivative.
struct Curve {
    at::Tensor value, slope;
};

constexpr double root_half = 0.70710678118654752440;
constexpr double root_two_over_pi = 0.79788456080286535588;

Curve erf_curve(const at::Tensor& x) {
    const at::Tensor phi = (x * root_half).erf() * 0.5 + 0.5;
    return {x * phi, phi + x * (x.square() * -0.5).exp() * (0.5 * root_two_over_pi)};
}

Curve tanh_curve(const at::Tensor& x) {
    const at::Tensor t = ((x + x.pow(3) * 0.044715) * root_two_over_pi).tanh();
    const at::Tensor inner = (x.square() * (3 * 0.044715) + 1.0) * root_two_over_pi;
    return {x * (t + 1.0) * 0.5, (t + 1.0) * 0.5 + x * 0.5 * (1.0 - t.square()) * inner};
}

Curve curve(ActivationKind kind, const at::Tensor& x) {
    switch (kind) {
        case ActivationKind::gelu_erf:
        case ActivationKind::geglu_erf:
            return erf_curve(x);
        case ActivationKind::gelu_tanh:
        case ActivationKind::geglu_tanh:
            return tanh_curve(x);
        case ActivationKind::silu:
        case ActivationKind::swiglu: {
            const at::Tensor s = x.sigmoid();
            return {x * s, s * (x * (1.0 - s) + 1.0)};
        }
        case ActivationKind::identity:
            return {x * 1.0, at::ones_like(x)};
        case ActivationKind::custom: {
            const at::Tensor s = (1.7 * x).sigmoid();
            return {x * s, s * (1.7 * x * (1.0 - s) + 1.0)};
        }
        default:
            return {x.clamp_min(0.0), x.gt(0.0).to(x.scalar_type())};
    }
}

class ActivationSample final : public Activation {
public:
    explicit ActivationSample(const CreateInfo& info) : Activation(info), mutation_(info) {}
    static Verdict supports(const ActivationRequest& request, const HostInfo&, const Options& options) {
        Verdict verdict;
        if (is_custom(request.activation) && request.custom != "sample")
            verdict.reject(Code::Algorithm, "activation", "custom:sample", formula_name(request));
        if (options.string("mutation") == "refuses_float64" && request.dtype == DType::float64)
            verdict.reject(Code::DType, "dtype", "float32", "float64");
        return verdict;
    }

    at::Tensor forward(const ActivationInputs& in, const ActivationParams& params, Saved* saved) override {
        const at::Tensor x = shifted(in.x, in.bias);
        const Gate gate = gate_of(params.activation, x);
        at::Tensor y = gate.act.value;
        if (gate.other.defined()) y = y * gate.other;
        y = dropped(y, params);
        if (is("changes_input")) in.x.add_(1.0);
        if (is("nan_to_num")) y = y.nan_to_num();
        if (is("odd_after_10_calls") && ++calls_ > 10) y = y * 1.5;
        if (saved != nullptr) {
            saved->input(in.x);
            saved->input(in.bias);
        }
        executed();
        return y.to(in.x.scalar_type());
    }

    ActivationGrads backward(const ActivationParams& params, const Saved& saved, const at::Tensor& grad_y,
                             const ActivationNeeds& needs) override {
        const at::Tensor x = is("bias_missing_in_backward") ? wide(saved[0]) : shifted(saved[0], saved[1]);
        const Gate gate = gate_of(params.activation, x);
        at::Tensor g = wide(grad_y);
        if (!is("no_dropout_in_backward")) g = dropped(g, params);
        at::Tensor dx = g * gate.act.slope;
        if (gate.other.defined()) {
            dx = dx * (is("gate_missing_in_backward") ? at::ones_like(gate.other) : gate.other);
            dx = at::cat({dx, g * gate.act.value}, -1);
        }
        ActivationGrads grads;
        if (needs.x) grads.x = dx.to(saved[0].scalar_type());
        if (needs.bias)
            grads.bias = (is("bias_gradient_mean") ? dx.reshape({-1, x.size(-1)}).mean(0)
                                                   : dx.reshape({-1, x.size(-1)}).sum(0))
                             .to(saved[1].scalar_type());
        if (is("saves_nothing_for_bias") && needs.bias) grads.bias = at::Tensor();
        return grads;
    }

private:
    struct Gate {
        Curve act;
        at::Tensor other;  // the second half, where there is one
    };
    bool is(const char* name) const { return mutation_.is(name); }

    at::Tensor shifted(const at::Tensor& x, const at::Tensor& bias) const {
        return bias.defined() && !is("ignores_bias") ? wide(x) + wide(bias) : wide(x);
    }
    Gate gate_of(ActivationKind kind, const at::Tensor& x) const {
        if (is("tanh_for_erf") && kind == ActivationKind::gelu_erf) kind = ActivationKind::gelu_tanh;
        if (kind == ActivationKind::custom) return {own_curve(x), {}};
        if (!is_gated(kind)) return {curve(kind, x), {}};
        const std::int64_t width = x.size(-1) / 2;
        const at::Tensor first = x.narrow(-1, 0, width), second = x.narrow(-1, width, width);
        if (is("halves_swapped")) return {curve(kind, second), first};
        if (is("halves_interleaved"))
            return {curve(kind, x.slice(-1, 0, x.size(-1), 2)), x.slice(-1, 1, x.size(-1), 2)};
        return {curve(kind, first), second};
    }
    Curve own_curve(const at::Tensor& x) const {
        Curve made = curve(ActivationKind::custom, x);
        const bool wide_type = x.scalar_type() == at::kDouble;
        if (is("slope_off")) made.slope = made.slope * 1.01;
        if (is("slope_of_another")) made.slope = curve(ActivationKind::silu, x).slope;
        if (is("slope_off_for_large")) made.slope = at::where(x.gt(4.0), made.slope * 1.01, made.slope);
        if (is("depends_on_row")) made.value = made.value - made.value.mean(-1, true) * 0.01;
        if (is("depends_on_place") && x.size(-1) > 3) made.value.select(-1, 3).mul_(1.01);
        if (is("another_in_float64") && wide_type) made.value = made.value + 0.01 * x;
        if (is("narrow") && !wide_type) made.value = made.value.to(at::kBFloat16).to(x.scalar_type());
        return made;
    }
    at::Tensor dropped(const at::Tensor& y, const ActivationParams& params) const {
        Dropout dropout = params.dropout;
        if (is("seed_truncated")) dropout.seed &= 0xFFFFFFFFU;
        return reference::hidden_dropout(y, dropout, params.tokens);
    }

    Mutation mutation_;
    int calls_ = 0;  // used by a mutation only
};

}  // namespace

const LocalComponent activation_entry =
    local_component<Kind::activation, ActivationSample>(GradientMode::kernel, RandomSource::counter);
const LocalComponent own_activation_entry = with_formula_of_its_own(activation_entry);

}  // namespace switchyard::test
