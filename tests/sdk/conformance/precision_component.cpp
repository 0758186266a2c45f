// A right precision policy - and, with a mutation, one that is wrong in one way. Of float32 parameters it
// computes linear layers in float8 by present scales (of each matrix, or of each row), quantizing weights
// once a step, attention and activations in bfloat16; other parameters it takes as they are. Where it is
// asked to, it scales the loss.
#include <algorithm>
#include <map>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/interfaces/precision.h>

#include "component.h"

namespace switchyard::test {
namespace {

// Legend:  R rows  I in  O out

class PrecisionSample final : public Precision {
public:
    explicit PrecisionSample(const CreateInfo& info)
        : Precision(info), mutation_(info), request_(*static_cast<const PrecisionRequest*>(info.request)) {
        scale_ = request_.loss_scaling ? 65536.0 : is("scales_unasked") ? 2.0 : 1.0;
    }

    static Verdict supports(const PrecisionRequest&, const HostInfo&, const Options&) { return {}; }

    DType storage(OpClass, const std::string&) const override {
        return is("declares_integers") ? DType::int32 : request_.dtype;
    }

    DType compute(OpClass op, const std::string&) const override {
        if (is("declaration_changes") && calls_ > 0 && op == OpClass::loss) return DType::float16;
        if (request_.dtype != DType::float32) return request_.dtype;
        if (op == OpClass::linear) return DType::float8_e4m3fn;
        const bool low = op == OpClass::attention || op == OpClass::activation;
        return low ? DType::bfloat16 : DType::float32;
    }

    bool quantize(const LinearInputs& inputs, const LinearSite& site, bool for_gradient,
                  QuantizedInputs& made) override;
    QuantizedGradients quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                         const LinearOperand& kept_x, const LinearSite& site,
                                         const LinearNeeds& needs) override;

    void begin_step() override { in_step_ = true; }
    void end_step() override {
        in_step_ = false;
        if (!is("keeps_weights_over_steps")) weights_.clear();
    }
    void set_recompute(bool recompute) override { recompute_ = recompute; }
    double loss_scale() const override { return scale_; }
    void update(bool found_inf) override;
    PrecisionState state() const override;
    void load(const PrecisionState& state) override;

private:
    bool is(const char* name) const { return mutation_.is(name); }
    LinearOperand cast(const at::Tensor& x, bool gradient) const;
    LinearOperand weight(const at::Tensor& weight_OI);

    Mutation mutation_;
    PrecisionRequest request_;
    double scale_ = 1.0;
    std::int64_t clean_ = 0;  // steps since the last non-finite gradient
    std::int64_t calls_ = 0;
    bool in_step_ = false, recompute_ = false;
    LinearOperand last_x_;
    std::map<const void*, std::pair<at::Tensor, LinearOperand>> weights_;  // with the source, kept alive
};

// x [rows, columns].
LinearOperand PrecisionSample::cast(const at::Tensor& x, bool gradient) const {
    const bool by_row = is("by_row");  // right, too
    const at::Tensor wide = x.to(at::kFloat), finite = wide.nan_to_num(0.0, 0.0, 0.0);
    const double largest = gradient ? 57344.0 : 448.0;
    const at::Tensor amax = wide.numel() == 0 ? at::scalar_tensor(0.0, wide.options())
                            : by_row          ? finite.abs().amax({1}, true)
                                              : finite.abs().amax();
    at::Tensor scale = (largest / amax).masked_fill(amax.eq(0.0), 1.0);
    if (by_row && wide.numel() == 0) scale = scale.expand({x.size(0), 1}).contiguous();
    if (is("scales_to_nothing")) scale = scale * 1e-6;
    at::Tensor scaled = (wide * scale).clamp(-largest, largest);
    if (!is("hides_infinity")) scaled = scaled.masked_fill(wide.isfinite().logical_not(), 0.0 / 0.0);
    LinearOperand made{scaled.to(gradient ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn), scale.reciprocal(),
                       by_row ? ScaleGroup::row : ScaleGroup::tensor};
    if (is("float32_values")) made.values = scaled;
    if (is("scale_instead_of_inverse")) made.inverse_scale = scale;
    if (is("scale_of_one_dimension")) made.inverse_scale = made.inverse_scale.reshape({-1});
    return made;
}

LinearOperand PrecisionSample::weight(const at::Tensor& weight_OI) {
    if (!in_step_ && !is("keeps_weights_over_steps")) return cast(weight_OI, false);
    auto& [source, kept] = weights_[weight_OI.const_data_ptr()];
    if (!source.defined()) source = weight_OI, kept = cast(weight_OI, false);
    return kept;
}

bool PrecisionSample::quantize(const LinearInputs& inputs, const LinearSite&, bool for_gradient,
                               QuantizedInputs& made) {
    if (is("throws_on_vector") && inputs.x.dim() == 1) throw std::runtime_error("x has one dimension");
    if (is("changes_input") && inputs.x.numel() > 0) inputs.x.mul_(0.5);
    if (!is("not_counted")) executed(is("undeclared_variant") ? "fast" : "");
    if (is("counted_twice")) executed();
    if (is("refuses_infinity") && !inputs.x.isfinite().all().item<bool>()) return false;  // right, too
    at::Tensor x = inputs.x;
    if (is("assumes_dense")) x = x.as_strided(x.sizes(), x.contiguous().strides());
    const at::Tensor x_RI = x.reshape({x.numel() / x.size(-1), x.size(-1)});
    made.x = cast(x_RI, false);
    made.weight = weight(inputs.weight);
    if (for_gradient) made.kept_x = last_x_ = cast(x_RI.t().contiguous(), false);
    if (is("nondeterministic"))
        made.x.inverse_scale = made.x.inverse_scale * (1.0 + 0.001 * static_cast<double>(calls_));
    if (is("recompute_differs") && recompute_) made.x.inverse_scale = made.x.inverse_scale * 1.001;
    if (!recompute_ || is("recompute_advances")) ++calls_;
    return true;
}

QuantizedGradients PrecisionSample::quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                                      const LinearOperand& kept_x, const LinearSite&,
                                                      const LinearNeeds& needs) {
    QuantizedGradients made;
    const double factor = is("leaves_gradients_scaled") ? scale_ : 1.0;
    const at::Tensor grad = grad_RO.to(at::kFloat) * factor;
    if (needs.x) {
        made.grad = cast(grad, true);
        made.weight = cast(is("weight_not_turned") ? weight_OI : weight_OI.t().contiguous(), false);
        if (is("view_of_gradient")) {  // right, too
            made.grad = cast(grad.t().contiguous(), true);
            made.grad.values = made.grad.values.t();
        }
    }
    if (needs.weight && !is("gradient_missing")) {
        made.grad_t = cast(grad.t().contiguous(), true);
        made.kept_x = is("x_of_last_call") ? last_x_ : kept_x;
    }
    return made;
}

void PrecisionSample::update(bool found_inf) {
    if (!request_.loss_scaling) return;
    if (found_inf) {
        const double factor = is("scale_grows_on_infinity") ? 2.0 : 0.5;
        scale_ = is("scale_vanishes") ? scale_ * factor : std::clamp(scale_ * factor, 1.0, 16777216.0);
        clean_ = 0;
    } else if (++clean_ % 3 == 0) {
        scale_ = std::min(scale_ * 2.0, 16777216.0);
    }
}

PrecisionState PrecisionSample::state() const {
    const auto number = [](double value) { return at::scalar_tensor(value, at::kDouble); };
    PrecisionState state;
    if (!is("forgets_scale")) state.entries.push_back({"loss_scale", number(scale_)});
    state.entries.push_back({"clean_steps", number(static_cast<double>(clean_))});
    state.entries.push_back(
        {is("entry_twice") ? "clean_steps" : "calls", number(static_cast<double>(calls_))});
    return state;
}

void PrecisionSample::load(const PrecisionState& state) {
    if (is("ignores_load")) return;
    for (const auto& [key, value] : state.entries) {
        const auto number = value.item<double>();
        if (key == "loss_scale") scale_ = number;
        if (key == "clean_steps") clean_ = static_cast<std::int64_t>(number);
        if (key == "calls") calls_ = static_cast<std::int64_t>(number);
    }
}

}  // namespace

const LocalComponent precision_entry =
    local_component<Kind::precision, PrecisionSample>(GradientMode::kernel, RandomSource::none);

}  // namespace switchyard::test
