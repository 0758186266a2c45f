#include "core/workbench/train/parameter_groups.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/name_pattern.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/pipeline_stage.h"

namespace switchyard::train {
namespace {

HyperParameters hyper_of(const config::OptimizerConfig& optimizer, bool decay,
                         const config::GroupConfig* group) {
    HyperParameters hyper;
    hyper.lr = optimizer.lr * (group != nullptr ? group->lr_factor : 1.0);
    hyper.beta1 = optimizer.betas[0];
    hyper.beta2 = optimizer.betas[1];
    hyper.eps = optimizer.eps;
    hyper.weight_decay =
        decay ? optimizer.weight_decay * (group != nullptr ? group->weight_decay_factor : 1.0) : 0.0;
    hyper.momentum = optimizer.momentum;
    hyper.nesterov = optimizer.nesterov;
    return hyper;
}

}  // namespace

std::vector<std::string> group_problems(const config::Config& config, const std::vector<std::string>& names) {
    std::vector<std::string> problems;
    for (const auto& group : config.groups) {
        for (const auto& pattern : group.match) {
            const auto fits = [&](const std::string& name) { return config::name_matches(pattern, name); };
            if (std::ranges::any_of(names, fits)) continue;
            problems.push_back(config::to_string(group.origin) + ": error: group.match: \"" + pattern +
                               "\" is the name of no parameter; " + config::near_pattern(pattern, names));
        }
    }
    const auto trained = [&](const std::string& name) { return is_trained(config, name); };
    if (problems.empty() && !config.groups.empty() && std::ranges::none_of(names, trained))
        problems.push_back(config::to_string(config.groups.front().origin) +
                           ": error: group.frozen: all parameters are frozen; expected some to train");
    return problems;
}

namespace {

std::vector<std::string> names_of(const model::ModelNames& described) {
    std::vector<std::string> names;
    for (const auto& parameter : described.parameters) names.push_back(parameter.name);
    return names;
}

// Of a pipeline each stage has something to train, so that its ranks step as the others do.
std::vector<std::string> stage_problems(const config::Config& config, const std::vector<std::string>& names) {
    std::vector<std::string> problems;
    auto staged = config;
    staged.distributed.stage.parts = config.mesh.pipeline;
    for (std::int64_t number = 0; number < config.mesh.pipeline; ++number) {
        const model::PipelineStage stage(staged, number);
        const auto learns = [&](const std::string& name) {
            return stage.has(name) && is_trained(config, name);
        };
        if (std::ranges::any_of(names, learns)) continue;
        problems.push_back(config::told_at(config, "distributed.mesh.pipeline") + "all parameters of stage " +
                           std::to_string(number) +
                           " are frozen; expected fewer ranks, so that each has some to train");
    }
    return problems;
}

}  // namespace

std::vector<std::string> stage_problems(const config::Config& config) {
    if (config.mesh.pipeline == 1 || !config::trains(config)) return {};
    return stage_problems(config, names_of(model::describe_names(config)));
}

// A run whose adapters are merged has names no more that its groups may have matched.
std::vector<std::string> name_problems(const config::Config& config) {
    const auto described = model::describe_names(config);
    const auto names = names_of(described);
    std::vector<std::string> problems;
    if (config::trains(config)) {
        problems = group_problems(config, names);
        if (problems.empty() && config.mesh.pipeline > 1) problems = stage_problems(config, names);
    }
    for (auto& problem : model::low_rank_problems(config, described.linear_layers, names))
        problems.push_back(std::move(problem));
    return problems;
}

const config::GroupConfig* group_of(const config::Config& config, const std::string& name) {
    const config::GroupConfig* found = nullptr;
    for (const auto& group : config.groups) {
        if (config::any_matches(group.match, name)) found = &group;
    }
    return found;
}

bool is_trained(const config::Config& config, const std::string& name) {
    const auto* const group = group_of(config, name);
    if (group != nullptr && group->frozen) return false;
    return config.lora.rank == 0 || model::is_low_rank(name) ||
           config::any_matches(config.lora.trained, name);
}

void freeze(const config::Config& config, const model::Parameters& parameters) {
    for (const auto& parameter : parameters.all())
        if (!is_trained(config, parameter.name)) parameter.value.requires_grad_(false);
}

std::vector<ParameterGroup> optimizer_groups(const config::Config& config,
                                             const model::Parameters& parameters) {
    std::vector<const config::GroupConfig*> all{nullptr};
    for (const auto& group : config.groups) all.push_back(&group);
    std::vector<ParameterGroup> groups;
    for (const auto* const of : all) {
        for (const bool decay : {true, false}) {
            ParameterGroup group;
            group.name = (of != nullptr ? base::joined(of->match) + ", " : std::string()) +
                         (decay ? "decayed" : "not decayed");
            group.hyper = hyper_of(config.optimizer, decay, of);
            for (const auto& parameter : parameters.all()) {
                if (parameter.decay != decay || group_of(config, parameter.name) != of) continue;
                if (!parameter.value.requires_grad()) continue;
                Parameter entry;
                entry.name = parameter.name;
                entry.value = parameter.value;
                if (parameter.value.element_size() < 4)
                    entry.master = parameter.value.detach().to(at::kFloat);
                group.parameters.push_back(std::move(entry));
            }
            if (!group.parameters.empty()) groups.push_back(std::move(group));
        }
    }
    return groups;
}

void check_masters(const std::vector<ParameterGroup>& groups,
                   const std::map<std::string, at::Tensor>& masters) {
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            if (parameter.value.element_size() >= 4) continue;
            const auto found = masters.find(parameter.name);
            if (found == masters.end() || found->second.sizes() != parameter.value.sizes())
                throw std::invalid_argument("there is no float32 master of " + parameter.name +
                                            " in its shape, which parameters of lower precision need");
        }
    }
}

}  // namespace switchyard::train
