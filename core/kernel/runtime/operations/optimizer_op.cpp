#include "core/kernel/runtime/operations/optimizer_op.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/operations/check.h"

namespace switchyard::runtime {
namespace {

std::vector<at::Tensor> gradients_of(const std::vector<ParameterGroup>& groups) {
    std::vector<at::Tensor> gradients;
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            if (parameter.gradient.defined()) gradients.push_back(parameter.gradient);
        }
    }
    return gradients;
}

at::TensorOptions scalar_options(const std::vector<at::Tensor>& gradients) {
    return gradients.front().options().dtype(at::kFloat).requires_grad(false);
}

// Divides in place. Float32 scalar: 1 if a gradient was not finite.
at::Tensor unscale(std::vector<at::Tensor>& gradients, const StepParams& params) {
    const at::TensorOptions options = scalar_options(gradients);
    at::Tensor found_inf = at::zeros({}, options);
    const at::Tensor inverse = params.grad_scale_tensor.defined()
                                   ? params.grad_scale_tensor.to(options).reciprocal()
                                   : at::full({}, 1.0 / params.grad_scale, options);
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse);
    return found_inf;
}

// In float64 where a gradient is, else in float32.
at::Tensor global_norm(const std::vector<at::Tensor>& gradients) {
    bool wide = false;
    for (const at::Tensor& gradient : gradients) wide = wide || gradient.scalar_type() == at::kDouble;
    std::vector<at::Tensor> norms = at::_foreach_norm(gradients, 2, wide ? at::kDouble : at::kFloat);
    return at::stack(norms).norm();
}

bool any_not_finite(const std::vector<at::Tensor>& gradients) {
    for (const at::Tensor& gradient : gradients) {
        if (!gradient.isfinite().all().item<bool>()) return true;
    }
    return false;
}

void clip(std::vector<at::Tensor>& gradients, const at::Tensor& norm, double max_grad_norm) {
    at::_foreach_mul_(gradients, (max_grad_norm / (norm + 1e-6)).clamp_max(1.0));
}

void raise_version(const at::Tensor& tensor) {
    if (tensor.defined() && !tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
}

void tell_step(const Binding<Optimizer>& binding, const std::vector<ParameterGroup>& groups) {
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            if (!parameter.gradient.defined()) continue;
            ObservedCall call{binding, "optimizer.step", parameter.name, runtime::Pass::step, false, {}, {}};
            call.inputs = {{"gradient", parameter.gradient}};
            call.outputs = {{"value", parameter.value}};
            if (parameter.master.defined()) call.outputs.push_back({"master", parameter.master});
            runtime::tell_observer(call);
        }
    }
}

}  // namespace

void raise_versions(const std::vector<ParameterGroup>& groups) {
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            if (!parameter.gradient.defined()) continue;
            raise_version(parameter.value);
            raise_version(parameter.master);
        }
    }
}

OptimizerOp::OptimizerOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Optimizer>>(loaded, std::move(info))) {
    for (const std::string& part : composed) {
        if (part != "unscale" && part != "clip") refuse(*binding_, "cannot be composed with '", part, "'");
    }
    compose_clip_ = has_part(composed, "clip");
    compose_unscale_ = has_part(composed, "unscale");
}

void OptimizerOp::bind(const std::vector<ParameterGroup>& groups) const {
    Optimizer& optimizer = binding_->fresh();
    binding_->run("optimizer.bind", [&] { optimizer.bind(groups); });
}

// What the component does not do itself. True if a gradient is not finite: then the step ends here.
bool OptimizerOp::prepare(const std::vector<ParameterGroup>& groups, const StepParams& params,
                          StepResult& made) const {
    const bool clips = compose_clip_ && params.max_grad_norm > 0.0;
    if (!clips && !compose_unscale_) return false;
    std::vector<at::Tensor> gradients = gradients_of(groups);
    if (gradients.empty()) return false;
    if (compose_unscale_) made.found_inf = unscale(gradients, params);
    const at::Tensor norm = global_norm(gradients);
    made.grad_norm = norm.to(at::kFloat);
    if (made.found_inf.defined() && made.found_inf.item<float>() != 0.0F) return true;
    if (!clips) return false;
    if (!std::isfinite(norm.item<double>()) && any_not_finite(gradients)) {
        made.found_inf = at::ones({}, scalar_options(gradients));
        return true;
    }
    clip(gradients, norm, params.max_grad_norm);
    return false;
}

void OptimizerOp::check(const StepParams& params) const {
    const bool scaled = params.grad_scale != 1.0 || params.grad_scale_tensor.defined();
    require(*binding_, params.max_grad_norm <= 0.0 || compose_clip_ || binding_->request().clip,
            "max_grad_norm is ", params.max_grad_norm, ", bound for steps without clipping");
    require(*binding_, !scaled || compose_unscale_ || binding_->request().unscale, "gradients are scaled by ",
            params.grad_scale, ", bound for steps without unscaling");
}

// What is left to the component.
StepParams OptimizerOp::rest_of(const StepParams& params) const {
    StepParams rest = params;
    if (compose_unscale_) {
        rest.grad_scale = 1.0;
        rest.grad_scale_tensor.reset();
    }
    if (compose_clip_) rest.max_grad_norm = 0.0;
    return rest;
}

void OptimizerOp::tell(const std::vector<ParameterGroup>& groups) const {
    raise_versions(groups);
    if (runtime::call_observer() != nullptr) [[unlikely]]
        tell_step(*binding_, groups);
}

StepResult OptimizerOp::step(std::vector<ParameterGroup>& groups, const StepParams& params) const {
    const c10::AutoGradMode no_grad(false);
    check(params);
    StepResult made;
    if (prepare(groups, params, made)) return made;
    StepResult inner =
        binding_->run("optimizer.step", [&] { return binding_->interface().step(groups, rest_of(params)); });
    tell(groups);
    if (!made.grad_norm.defined()) made.grad_norm = inner.grad_norm;
    if (!made.found_inf.defined()) made.found_inf = inner.found_inf;
    return made;
}

ShardedOptimizer* OptimizerOp::sharded() const {
    return static_cast<ShardedOptimizer*>(
        binding_->run("query", [&] { return binding_->interface().query(sharded_optimizer_interface); }));
}

std::optional<std::int64_t> OptimizerOp::part_alignment() const {
    auto* const parts = sharded();
    if (parts == nullptr) return std::nullopt;
    return binding_->run("optimizer.part_alignment", [&] { return parts->part_alignment(); });
}

void OptimizerOp::bind_parts(const std::vector<ParameterGroup>& groups,
                             const std::vector<ParameterPart>& parts) const {
    binding_->fresh();
    auto* const component = sharded();
    binding_->run("optimizer.bind_parts", [&] { component->bind_parts(groups, parts); });
}

StepResult OptimizerOp::step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                                   double grad_norm) const {
    const c10::AutoGradMode no_grad(false);
    check(params);
    std::vector<at::Tensor> gradients = gradients_of(groups);
    StepResult made;
    if (compose_unscale_ && !gradients.empty()) made.found_inf = unscale(gradients, params);
    if (compose_clip_ && params.max_grad_norm > 0.0 && !gradients.empty())
        clip(gradients, at::full({}, grad_norm, scalar_options(gradients)), params.max_grad_norm);
    auto* const component = sharded();
    StepResult inner = binding_->run(
        "optimizer.step_parts", [&] { return component->step_parts(groups, rest_of(params), grad_norm); });
    tell(groups);
    if (!made.found_inf.defined()) made.found_inf = inner.found_inf;
    made.grad_norm = inner.grad_norm;
    if (!made.grad_norm.defined() && (compose_unscale_ || compose_clip_) && !gradients.empty())
        made.grad_norm = at::full({}, grad_norm, scalar_options(gradients));
    return made;
}

OptimizerState OptimizerOp::state() const {
    return binding_->run("optimizer.state", [&] { return binding_->interface().state(); });
}

void OptimizerOp::load(const OptimizerState& state) const {
    binding_->run("optimizer.load", [&] { binding_->interface().load(state); });
}

}  // namespace switchyard::runtime
