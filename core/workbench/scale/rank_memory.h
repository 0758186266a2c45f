// What one rank keeps in memory during training, by part.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/model/describer.h"
#include "core/workbench/scale/divided_step.h"

namespace switchyard::scale {

// Bytes.
struct RankMemory {
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    // With the float32 masters of parameters of lower precision, and the average that train.ema keeps.
    std::int64_t optimizer_state = 0;
    std::int64_t activations = 0;  // kept for backward, of the largest batch and without fusion
    std::int64_t buckets = 0;      // gradients on their way, where they are rounded for it
    // Of parameters that are divided over ranks, what is whole while a layer computes.
    std::int64_t gathered = 0;

    std::int64_t all() const {
        return parameters + gradients + optimizer_state + activations + buckets + gathered;
    }
};

// Numbers of state that an optimizer keeps for each value of a parameter. `matrix`: it has two dimensions.
double state_numbers(OptimizerKind algorithm, double momentum, bool matrix);

// `parts`: of model::describe, and `parameters` what they have. Activations are counted in `computed_in`, the
// optimizer's state in float32: a component that keeps it in 8 bits has a quarter of that.
RankMemory memory_of_rank(const config::Config& config, const std::vector<model::ModelPart>& parts,
                          const std::vector<model::DescribedParameter>& parameters, const Trained& trained,
                          DType computed_in, std::int64_t ranks);

}  // namespace switchyard::scale
