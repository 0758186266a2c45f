// What a configured job asks of its slots, one SlotUse for each slot, phase and group of equal layers; and
// what its model consists of. No tensor is made and no plugin is asked.
#pragma once

#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/model/describer.h"
#include "core/workbench/model/requests.h"

namespace switchyard::model {

// The use of the precision slot alone. It comes first: the policy that is chosen for it answers for the
// dtypes of all others.
resolver::SlotUse outline_precision(const config::Config& config);

// All other uses, of the model and of its training.
std::vector<resolver::SlotUse> outline(const config::Config& config, const Dtypes& dtypes);

// The parts of the model: how large they are, and what a forward pass costs.
std::vector<ModelPart> describe(const config::Config& config);

// Names that a configuration goes by: of the whole model, whatever this process has of it.
struct ModelNames {
    std::vector<DescribedParameter> parameters;  // [[group]], lora.trained
    std::vector<std::string> linear_layers;      // lora.targets
};
ModelNames describe_names(const config::Config& config);

}  // namespace switchyard::model
