// A checkpoint that ranks write together, each what it has whole of it (checkpoint.h): it is there when the
// last part is, for the first rank then renames its folder. All write into one folder, which has to be the
// same for all of them.
#pragma once

#include <cstdint>
#include <string>

#include "core/workbench/distributed/group.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/checkpoint_part.h"
#include "core/workbench/train/training_state.h"

namespace switchyard::train {

// On all ranks, with what each writes, for the `number`th time. `folder`: of all checkpoints of the run. An
// error is the same on all; then earlier checkpoints are what they were.
std::string save_together(distributed::Group& world, std::int64_t number, const std::string& folder,
                          const CheckpointPart& part, const TrainingState& state,
                          const model::Parameters& parameters, std::int64_t keep);

}  // namespace switchyard::train
