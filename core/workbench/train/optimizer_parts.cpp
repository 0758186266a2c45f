#include "core/workbench/train/optimizer_parts.h"

#include <cmath>

#include <switchyard/interfaces/sharded_optimizer.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/train/nonfinite_over_ranks.h"

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
            const auto number = model.number_of(parameter.name);
            stepped_.push_back({number, model.counts(model.all()[static_cast<std::size_t>(number)])});
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
    std::vector<OwnFinding> own;
    std::size_t place = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const auto [number, counted] = stepped_[place++];
            if (counted) own.push_back({number, nonfinite_values(parameter.gradient)});
        }
    }
    return nonfinite_over_ranks(*model_.mesh().model(), model_.nothing_found(), own);
}

}  // namespace switchyard::train
