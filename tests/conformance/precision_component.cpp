// A right precision policy - and, with a mutation, one that is wrong in one way. Of float32 parameters it
// computes linear layers, attention and activations in bfloat16, casting weights once a step; other
// parameters it takes as they are. Where it is asked to, it scales the loss.
#include <algorithm>
#include <map>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>

#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/torch_types.h>

#include "component.h"

namespace switchyard::test {
namespace {

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
        const bool low = op == OpClass::linear || op == OpClass::attention || op == OpClass::activation;
        return low && request_.dtype == DType::float32 ? DType::bfloat16 : request_.dtype;
    }

    at::Tensor linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) override;
    LinearGrads linear_backward(const LinearSite& site, const Saved& saved, const at::Tensor& grad_y,
                                const LinearNeeds& needs) override;

    void begin_step() override { in_step_ = true; }
    void end_step() override {
        in_step_ = false;
        if (!is("keeps_casts_over_steps")) casts_.clear();
    }
    void set_recompute(bool recompute) override { recompute_ = recompute; }
    double loss_scale() const override { return scale_; }
    void update(bool found_inf) override;
    PrecisionState state() const override;
    void load(const PrecisionState& state) override;

private:
    bool is(const char* name) const { return mutation_.is(name); }
    at::ScalarType computed() const { return to_scalar_type(compute(OpClass::linear, "")); }
    at::Tensor cast(const at::Tensor& weight);
    at::Tensor multiply(at::Tensor x, const at::Tensor& weight) const;

    Mutation mutation_;
    PrecisionRequest request_;
    double scale_ = 1.0;
    std::int64_t clean_ = 0;  // steps since the last non-finite gradient
    std::int64_t calls_ = 0;
    bool in_step_ = false, recompute_ = false;
    at::Tensor last_x_;
    std::map<const void*, std::pair<at::Tensor, at::Tensor>> casts_;  // the weight, kept alive, and its cast
};

at::Tensor PrecisionSample::cast(const at::Tensor& weight) {
    if (!in_step_ && !is("keeps_casts_over_steps")) return weight.to(computed());
    auto& [source, kept] = casts_[weight.unsafeGetTensorImpl()];
    if (!kept.defined()) source = weight, kept = weight.to(computed(), false, true);
    return kept;
}

at::Tensor PrecisionSample::multiply(at::Tensor x, const at::Tensor& weight) const {
    if (is("transposes_weight")) return x.matmul(weight.reshape({weight.size(1), weight.size(0)}));
    if (is("assumes_dense")) x = x.as_strided(x.sizes(), x.contiguous().strides());
    if (is("reads_before") && x.storage_offset() > 0)
        x = x + x.as_strided({1}, {1}, x.storage_offset() - 1).to(x.scalar_type()) * 0.0;
    return x.matmul(weight.t());
}

at::Tensor PrecisionSample::linear(const LinearInputs& inputs, const LinearSite&, Saved* saved) {
    const at::NoGradGuard no_grad;
    if (is("throws_on_vector") && inputs.x.dim() == 1) throw std::runtime_error("x has one dimension");
    if (is("changes_input") && inputs.x.numel() > 0) inputs.x.mul_(0.5);
    const at::Tensor x =
        is("computes_low") ? inputs.x.to(at::kFloat).to(computed()) : inputs.x.to(computed());
    at::Tensor y = multiply(x, cast(inputs.weight));
    if (inputs.bias.defined() && !is("ignores_bias"))
        y = y + cast(inputs.bias) * (is("bias_twice") ? 2.0 : 1.0);
    if (is("hides_infinity")) y = y.clamp(-1e4, 1e4);
    if (is("nondeterministic")) y = y * (1.0 + 0.25 * static_cast<double>(calls_ % 3));
    if (is("returns_float32")) y = y.to(at::kFloat);
    if (is("recompute_differs") && recompute_) y = y * 1.5;
    if (!recompute_ || is("recompute_advances")) ++calls_;
    last_x_ = inputs.x;
    if (saved != nullptr) {
        is("marks_copy_as_input") ? saved->input(inputs.x.clone()) : saved->input(inputs.x);
        saved->input(inputs.weight);
        saved->input(inputs.bias);
    }
    if (!is("not_counted")) executed();
    return y;
}

LinearGrads PrecisionSample::linear_backward(const LinearSite&, const Saved& saved, const at::Tensor& grad_y,
                                             const LinearNeeds& needs) {
    const at::NoGradGuard no_grad;
    const at::Tensor& x = is("stale_state") ? last_x_ : saved[0];
    const at::Tensor& weight = saved[1];
    const double factor = is("leaves_gradients_scaled") ? scale_ : 1.0;
    const at::Tensor grad = grad_y.to(computed()) * factor;
    at::Tensor grad_rows = grad.reshape({-1, grad.size(-1)});
    at::Tensor x_rows = x.to(computed()).reshape({grad_rows.size(0), x.size(-1)});
    LinearGrads made;
    if (needs.x) made.x = grad.matmul(weight.to(computed())).to(x.scalar_type());
    if (is("weight_gradient_of_first_rows") && x.dim() > 1)
        grad_rows = grad_rows.narrow(0, 0, x.size(-2)), x_rows = x_rows.narrow(0, 0, x.size(-2));
    if (needs.weight && !is("weight_gradient_missing")) made.weight = grad_rows.t().matmul(x_rows);
    if (made.weight.defined() && !is("gradient_as_computed"))
        made.weight = made.weight.to(weight.scalar_type());
    if (needs.bias)
        made.bias =
            (is("bias_gradient_mean") ? grad_rows.mean(0) : grad_rows.sum(0)).to(saved[2].scalar_type());
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
