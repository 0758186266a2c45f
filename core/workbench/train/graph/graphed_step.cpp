#include "core/workbench/train/graph/graphed_step.h"

#include <algorithm>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/workbench/device_graph/capture_refusals.h"
#include "core/workbench/train/step_parts.h"

namespace switchyard::train {

std::vector<std::string> capture_refusals(const model::BoundPlan& plan,
                                          const runtime::OptimizerOp& optimizer) {
    const std::string key = "train.cuda_graph";
    auto bindings = plan.bindings(Phase::train);
    bindings.push_back(&optimizer.binding());
    auto lines = device_graph::capture_refusals(bindings, key);
    if (optimizer.reads_on_host())
        lines.push_back(device_graph::capture_refusal(
            optimizer.binding(), key,
            "clipping or unscaling is done around it, and reads the norm on the host"));
    return lines;
}

GraphedStep::GraphedStep(Parts parts, device_graph::GraphMaker& maker)
    : parts_(std::move(parts)), graphs_(maker, [this](std::vector<Batch>& batches) { body(batches); }) {
    const auto& config = parts_.config;
    loss_params_ = step_loss(config, 1.0);
    context_.phase = Phase::train;
    context_.dropout_on = false;
    context_.run_seed = static_cast<std::uint64_t>(config.run.seed);
    const auto options = at::TensorOptions().dtype(at::kFloat).device(to_device_type(config.run.device));
    for (auto* scalar : {&loss_, &labels_, &lr_factor_, &grad_norm_, &found_inf_})
        *scalar = at::zeros({}, options);
}

void GraphedStep::forward_backward(std::vector<Batch>& batches) {
    for (const auto& parameter : parts_.parameters.all()) {
        if (parameter.value.grad().defined()) parameter.value.grad().zero_();
    }
    loss_.zero_();
    for (auto& batch : batches) {
        const auto result = parts_.model.task(context_, batch, loss_params_);
        const auto loss = result.loss.loss.div(labels_);
        loss_.add_(loss.detach());
        loss.backward();
    }
}

void GraphedStep::optimizer_step() {
    collect_gradients(parts_.groups);
    StepParams params;
    params.max_grad_norm = parts_.config.optimizer.max_grad_norm;
    params.lr_factor_tensor = lr_factor_;
    const auto result = parts_.optimizer.step(parts_.groups, params);
    measures_norm_ = result.grad_norm.defined();
    finds_inf_ = result.found_inf.defined();
    if (measures_norm_) grad_norm_.copy_(result.grad_norm);
    if (finds_inf_) found_inf_.copy_(result.found_inf);
}

void GraphedStep::body(std::vector<Batch>& batches) {
    const c10::AutoGradMode with_grad(true);
    const auto& precision = parts_.plan.precision();
    precision.begin_step();
    forward_backward(batches);
    const c10::AutoGradMode no_grad(false);
    optimizer_step();
    precision.end_step();
}

GraphedStep::Result GraphedStep::run(std::vector<Batch>& batches, std::int64_t labels, double lr_factor) {
    labels_.fill_(static_cast<double>(std::max<std::int64_t>(1, labels)));
    lr_factor_.fill_(lr_factor);
    graphs_.run(batches);
    runtime::raise_versions(parts_.groups);  // a replay does not
    Result result;
    result.loss = loss_.item<double>();
    if (measures_norm_) result.grad_norm = grad_norm_.item<double>();
    result.skipped = finds_inf_ && found_inf_.item<float>() != 0.0F;
    return result;
}

}  // namespace switchyard::train
