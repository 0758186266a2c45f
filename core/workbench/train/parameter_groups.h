// Which parameters are trained, and with which factors of the optimizer's settings: [[group]] and [lora] of
// the configuration, over the names of a model's parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/config/config.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::train {

// Patterns of [[group]] that no name matches, each with its place and the names that are nearest; and if
// nothing is left to train.
std::vector<std::string> group_problems(const config::Config& config, const std::vector<std::string>& names);

// Stages of a pipeline (distributed.mesh) of which nothing is trained, in a job that trains.
std::vector<std::string> stage_problems(const config::Config& config);

// What is wrong with [lora] (low_rank.h), and in a job that trains both of these of the configured model.
std::vector<std::string> name_problems(const config::Config& config);

// The last group that matches; nullptr: none does.
const config::GroupConfig* group_of(const config::Config& config, const std::string& name);

// Whether it is trained: no group freezes it, and with adapters it is one, or one of lora.trained.
bool is_trained(const config::Config& config, const std::string& name);

// Takes the gradient from those that are not trained.
void freeze(const config::Config& config, const model::Parameters& parameters);

// What the optimizer is bound to: parameters that are trained, those of the same settings together, with
// float32 masters where they are of lower precision.
std::vector<ParameterGroup> optimizer_groups(const config::Config& config,
                                             const model::Parameters& parameters);

// Throws std::invalid_argument where one of them is of lower precision and there is no master of it.
void check_masters(const std::vector<ParameterGroup>& groups,
                   const std::map<std::string, at::Tensor>& masters);

}  // namespace switchyard::train
