// What was saved under other [[group]]s than a training has now, made to fit these: layers that are frozen
// from a step on, or trained from it on.
#pragma once

#include <optional>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/training_state.h"

namespace switchyard::train {

class OtherGroups {
public:
    // Of parameters that are not trained any more the optimizer's entries go. Those that were not trained yet
    // get the entries that `optimizer`, which is bound to `groups`, had before its first step: the first call
    // of `fit` comes before that, others go back to the same state. Masters that are missing are made of the
    // values. What is of no parameter stays, and is refused as ever.
    // Throws std::invalid_argument where ranks divide the state (`sharded`) and some were not trained yet.
    void fit(const std::vector<ParameterGroup>& groups, const model::Parameters& parameters,
             const runtime::OptimizerOp& optimizer, bool sharded, TrainingState& state);

private:
    std::optional<std::vector<OptimizerStateEntry>> first_;  // entries of those that were not trained yet
};

}  // namespace switchyard::train
