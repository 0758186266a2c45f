#include "core/workbench/train/all_stages.h"

#include "core/workbench/model/maker.h"

namespace switchyard::train {

AllStages all_stages(const config::Config& config, const model::BoundPlan& plan, const ModelParts& parts) {
    AllStages all;
    all.config = config;
    all.config.distributed.stage = {};
    all.model = model::make_model(all.config, plan, all.parameters);
    parts.take_of_stages(all.parameters);
    return all;
}

}  // namespace switchyard::train
