// The optimizer's step of a model of which ranks have a part each (model_parts.h): each steps what it has,
// with the norm of the whole gradient, and what several have they all step alike. Where the
// optimizer steps whole matrices only, one rank steps each (stepped_wholes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/model_parts.h"
#include "core/workbench/train/norm_over_ranks.h"
#include "core/workbench/train/stepped_wholes.h"

namespace switchyard::train {

class OptimizerParts {
public:
    // Binds the optimizer to `groups`. Throws base::InputError where the component cannot step parts of
    // models that are cut like this. What is handed in outlives it.
    OptimizerParts(const ModelParts& model, const config::Config& config,
                   const runtime::OptimizerOp& optimizer, const std::vector<ParameterGroup>& groups);

    // On all ranks: nonfinite_gradients (nonfinite.h) of what they have together.
    std::string nonfinite(const std::vector<ParameterGroup>& groups) const;
    // On all ranks: all parameters are stepped, or on no rank any is.
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params);

private:
    double squares(const std::vector<ParameterGroup>& groups) const;

    // One parameter of the groups, in their order.
    struct Stepped {
        std::int64_t number = 0;  // among all of the model
        bool counted = false;     // by this rank
    };

    const ModelParts& model_;
    std::optional<SteppedWholes> wholes_;  // of such an optimizer
    const runtime::OptimizerOp& optimizer_;
    std::vector<Stepped> stepped_;
};

}  // namespace switchyard::train
