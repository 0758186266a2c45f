// A model with all layers, for a process that has a range of them (model::PipelineStage): what generates
// needs them all for each token.
#pragma once

#include <memory>

#include "core/kernel/config/config.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/model_parts.h"

namespace switchyard::train {

// Of each layer it has this rank's part, where layers are cut.
struct AllStages {
    config::Config config;
    model::Parameters parameters;
    std::unique_ptr<model::Model> model;
};

// On all ranks; a copy of the weights as they are now. `plan` outlives it.
AllStages all_stages(const config::Config& config, const model::BoundPlan& plan, const ModelParts& parts);

}  // namespace switchyard::train
