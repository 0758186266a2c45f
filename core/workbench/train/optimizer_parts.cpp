#include "core/workbench/train/optimizer_parts.h"

#include <cmath>

#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/sharded_optimizer.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/train/nonfinite.h"

namespace switchyard::train {

OptimizerParts::OptimizerParts(distributed::Group& ranks, const config::Config& config,
                               const runtime::OptimizerOp& optimizer,
                               const std::vector<ParameterGroup>& groups, const model::Parameters& parameters)
    : ranks_(ranks), optimizer_(optimizer) {
    const auto refuse = [&](const std::string& what) {
        throw base::InputError(config::told_at(config, "distributed.mesh.tensor") + "the optimizer " +
                               optimizer.binding().plugin() + "/" + optimizer.binding().component() + " " +
                               what + "; expected 1, or an optimizer.backend that steps parts of layers");
    };
    const auto alignment = optimizer.part_alignment();
    if (!alignment) refuse("steps whole models only");
    if (*alignment == 0) refuse("steps whole matrices only");
    // Parts of columns have no place in memory where they could begin.
    if (*alignment > vector_alignment)
        refuse("goes by blocks of " + std::to_string(*alignment) +
               " values of whole parameters, which parts of layers cut elsewhere");
    std::vector<ParameterPart> places;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            parts_.push_back(parameters.find(parameter.name)->cut.part.parts);
            places.push_back({static_cast<std::int64_t>(places.size()), 0, parameter.value.numel()});
        }
    }
    optimizer.bind_parts(groups, places);
}

GradientSquares OptimizerParts::squares(const std::vector<ParameterGroup>& groups) const {
    std::vector<at::Tensor> own, common;
    std::size_t number = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            auto& gradients = parts_[number++] > 1 ? own : common;
            if (parameter.gradient.defined()) gradients.push_back(parameter.gradient);
        }
    }
    return {squares_of(own), squares_of(common)};
}

StepResult OptimizerParts::step(std::vector<ParameterGroup>& groups, const StepParams& params) const {
    const double norm = norm_over_ranks(ranks_, optimizer_, params, [&] { return squares(groups); });
    if (!std::isfinite(norm)) return without_step(norm);
    return optimizer_.step_parts(groups, params, norm);
}

std::string OptimizerParts::nonfinite(const std::vector<ParameterGroup>& groups) const {
    const auto count = static_cast<std::int64_t>(parts_.size());
    auto bad = at::zeros({count}, at::kDouble);
    std::vector<GradientFinding> findings;
    std::size_t number = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const auto parts = parts_[number];
            bad.select(0, static_cast<std::int64_t>(number++))
                .fill_(static_cast<double>(nonfinite_values(parameter.gradient)));
            findings.push_back({parameter.name, 0, parts * parameter.value.numel()});
        }
    }
    ranks_.sum(bad);
    const auto ranks = ranks_.world_size();
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const auto all = static_cast<std::int64_t>(bad.const_data_ptr<double>()[i]);
        findings[i].bad = parts_[i] > 1 ? all : all / ranks;
    }
    return nonfinite_text(findings);
}

}  // namespace switchyard::train
