#include "adafactor.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <switchyard/sdk/optimizer_groups.h>
#include <switchyard/sdk/serves.h>

using namespace switchyard;

namespace {

// Added to squares, so that nothing is divided by zero; far below any square that counts.
constexpr double tiny = 1e-30;

// Everything is computed in float32, or in float64 where the parameter is.
at::ScalarType wide_type(const Parameter& parameter) {
    return step_target(parameter).scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

double rms(const at::Tensor& values) { return values.square().mean().sqrt().item<double>(); }

// The gradients as they are meant: wide and unscaled. Undefined where a parameter has none.
std::vector<at::Tensor> read(const std::vector<ParameterGroup>& groups, double scale) {
    std::vector<at::Tensor> gradients;
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            at::Tensor gradient = parameter.gradient;
            if (gradient.defined()) {
                gradient = gradient_as_value("adafactor", parameter).to(wide_type(parameter));
                if (scale != 1.0) gradient = gradient / scale;
            }
            gradients.push_back(gradient);
        }
    }
    return gradients;
}

}  // namespace

AdaFactor::AdaFactor(const CreateInfo& info)
    : Optimizer(info),
      decay_exponent_(info.options.number("decay_exponent")),
      clip_threshold_(info.options.number("clip_threshold")),
      smallest_scale_(info.options.number("smallest_scale")),
      falling_rate_(info.options.boolean("falling_rate")),
      unscale_(optimizer_request(info).unscale),
      algorithm_(formula_name(optimizer_request(info))) {}

Verdict AdaFactor::supports(const OptimizerRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, request.algorithm == OptimizerKind::custom && request.custom == "adafactor",
            Code::Algorithm, "algorithm", "custom:adafactor", formula_name(request));
    REQUIRE(verdict, is_native_float(request.gradient_dtype), Code::DType, "gradient_dtype",
            "float32, float64, bfloat16 or float16", name(request.gradient_dtype));
    return verdict;
}

void AdaFactor::bind(const std::vector<ParameterGroup>& groups) {
    check_groups("adafactor", groups);
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            const at::Tensor& value = step_target(parameter);
            const auto options = value.options().dtype(wide_type(parameter)).requires_grad(false);
            const auto keep = [&](const char* key, const std::vector<std::int64_t>& sizes) {
                entries_.push_back({parameter.name, key, at::zeros(sizes, options)});
                return entries_.back().value;
            };
            Moments& moments = moments_.emplace_back();
            std::vector<std::int64_t> rows = value.sizes().vec(), columns = rows;
            if (value.dim() < 2) {
                moments.whole = keep("exp_avg_sq", rows);
                continue;
            }
            rows[rows.size() - 1] = 1;
            columns[columns.size() - 2] = 1;
            moments.rows = keep("exp_avg_sq_row", rows);
            moments.columns = keep("exp_avg_sq_col", columns);
        }
    }
}

StepResult AdaFactor::step(std::vector<ParameterGroup>& groups, const StepParams& params) {
    const at::NoGradGuard no_grad;
    executed();
    const double scale =
        params.grad_scale_tensor.defined() ? params.grad_scale_tensor.item<double>() : params.grad_scale;
    const double factor = params.lr_factor_tensor.defined() ? params.lr_factor_tensor.item<double>() : 1.0;
    const bool clip = params.max_grad_norm > 0.0, asked = clip || unscale_;
    const auto gradients = read(groups, scale);
    StepResult result;
    double shrink = 1.0;
    if (asked) {
        double squares = 0.0;
        bool finite = true;
        for (const at::Tensor& gradient : gradients) {
            if (!gradient.defined() || gradient.numel() == 0) continue;
            finite = finite && gradient.isfinite().all().item<bool>();
            squares += gradient.to(at::kDouble).square().sum().item<double>();
        }
        const double norm = std::sqrt(squares);
        const auto options = step_target(groups[0].parameters[0]).options().requires_grad(false);
        result.grad_norm = at::full({}, norm, options.dtype(at::kFloat));
        if (unscale_) result.found_inf = at::full({}, finite ? 0.0 : 1.0, options.dtype(at::kFloat));
        if (!finite) return result;
        if (clip) shrink = std::min(1.0, params.max_grad_norm / (norm + 1e-6));
    }
    ++step_;
    std::size_t index = 0;
    for (ParameterGroup& group : groups) {
        for (Parameter& parameter : group.parameters) {
            const std::size_t i = index++;
            if (!gradients[i].defined() || gradients[i].numel() == 0) continue;
            const at::Tensor gradient = shrink == 1.0 ? gradients[i] : gradients[i] * shrink;
            const at::Tensor& target = step_target(parameter);
            const at::Tensor weight = target.to(wide_type(parameter));  // itself where it is wide
            update(group.hyper, group.hyper.lr * factor, moments_[i], weight, gradient);
            if (!weight.is_same(target)) target.copy_(weight);
            if (parameter.master.defined()) parameter.value.copy_(parameter.master);
        }
    }
    return result;
}

void AdaFactor::update(const HyperParameters& hyper, double lr, Moments& moments, at::Tensor weight,
                       const at::Tensor& gradient) const {
    const auto t = static_cast<double>(step_);
    const double most = falling_rate_ ? std::min(lr, 1.0 / std::sqrt(t)) : lr;
    const double rate = most * std::max(smallest_scale_, rms(weight));
    const at::Tensor update = direction(moments, gradient);
    const double size = std::max(1.0, rms(update) / clip_threshold_);
    if (hyper.weight_decay != 0.0) weight.mul_(1.0 - lr * hyper.weight_decay);
    weight.add_(update, -rate / size);
}

at::Tensor AdaFactor::direction(Moments& moments, const at::Tensor& gradient) const {
    const double taken = std::pow(static_cast<double>(step_), -decay_exponent_);
    const at::Tensor squares = gradient.square() + tiny;
    if (moments.whole.defined()) {
        moments.whole.lerp_(squares, taken);
        return gradient * moments.whole.rsqrt();
    }
    moments.rows.lerp_(squares.mean(-1, true), taken);
    moments.columns.lerp_(squares.mean(-2, true), taken);
    // One after the other: their product may be too small for a float32.
    const at::Tensor of_rows = (moments.rows / moments.rows.mean(-2, true)).rsqrt();
    return gradient * of_rows * moments.columns.rsqrt();
}

OptimizerState AdaFactor::state() const { return {algorithm_, step_, entries_}; }

void AdaFactor::load(const OptimizerState& state) {
    load_state("adafactor", algorithm_, state, entries_);
    step_ = state.step;
}
