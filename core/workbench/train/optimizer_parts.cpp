#include "core/workbench/train/optimizer_parts.h"

#include <cmath>
#include <functional>
#include <numeric>

#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/sharded_optimizer.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/train/nonfinite.h"

namespace switchyard::train {

OptimizerParts::OptimizerParts(const ModelParts& model, const config::Config& config,
                               const runtime::OptimizerOp& optimizer,
                               const std::vector<ParameterGroup>& groups)
    : model_(model), optimizer_(optimizer) {
    const bool cut = model.mesh().tensor() != nullptr;
    const auto refuse = [&](const std::string& what) {
        throw base::InputError(
            config::told_at(config, cut ? "distributed.mesh.tensor" : "distributed.mesh.pipeline") +
            "the optimizer " + optimizer.binding().plugin() + "/" + optimizer.binding().component() + " " +
            what + "; expected 1, or an optimizer.backend that steps parts of " +
            (cut ? "layers" : "models"));
    };
    if (!optimizer.part_alignment()) refuse("steps whole models only");
    std::vector<ParameterPart> places;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            Stepped one;
            for (const auto& whole : model.all()) {
                if (whole.name == parameter.name) {
                    one.counted = model.counts(whole);
                    break;
                }
                ++one.number;
            }
            stepped_.push_back(one);
            places.push_back({static_cast<std::int64_t>(places.size()), 0, parameter.value.numel()});
        }
    }
    if (model.steps_wholes()) {
        wholes_.emplace(model, groups);
        optimizer.bind_parts(wholes_->own(), wholes_->places());
    } else {
        optimizer.bind_parts(groups, places);
    }
}

double OptimizerParts::squares(const std::vector<ParameterGroup>& groups) const {
    std::vector<at::Tensor> counted;
    std::size_t number = 0;
    for (const auto& group : groups)
        for (const auto& parameter : group.parameters)
            if (stepped_[number++].counted && parameter.gradient.defined())
                counted.push_back(parameter.gradient);
    return squares_of(counted);
}

StepResult OptimizerParts::step(std::vector<ParameterGroup>& groups, const StepParams& params) {
    const double norm =
        norm_over_ranks(*model_.mesh().model(), optimizer_, params, [&] { return squares(groups); });
    if (!std::isfinite(norm)) return without_step(norm);
    if (!wholes_) return optimizer_.step_parts(groups, params, norm);
    wholes_->take(groups);
    auto result = optimizer_.step_parts(wholes_->own(), params, norm);
    wholes_->hand_out(groups);
    runtime::raise_versions(groups);
    return result;
}

std::string OptimizerParts::nonfinite(const std::vector<ParameterGroup>& groups) const {
    // Of each parameter of the model: values that are not finite, and whether it has a gradient.
    auto told = at::zeros({2, static_cast<std::int64_t>(model_.all().size())}, at::kDouble);
    std::size_t place = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const auto [number, counted] = stepped_[place++];
            if (!counted) continue;
            told.select(0, 0).select(0, number).fill_(
                static_cast<double>(nonfinite_values(parameter.gradient)));
            told.select(0, 1).select(0, number).fill_(1.0);
        }
    }
    model_.mesh().model()->sum(told);
    const auto* const bad = told.const_data_ptr<double>();
    std::vector<GradientFinding> findings;
    for (std::size_t i = 0; i < model_.all().size(); ++i) {
        const auto& [name, sizes, stages] = model_.all()[i];
        if (bad[model_.all().size() + i] == 0.0) continue;
        const auto values = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
        findings.push_back({name, static_cast<std::int64_t>(bad[i]), values});
    }
    return nonfinite_text(findings);
}

}  // namespace switchyard::train
