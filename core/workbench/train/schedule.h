// Learning-rate schedules: a factor on every group's rate, by optimizer step.
//
// Warm-up rises linearly from 1/warmup_steps at step 0 to 1; then, over the remaining steps,
//   constant: 1;   linear: down to `final_factor`;   cosine: half a cosine down to `final_factor` (Loshchilov
//                  & Hutter 2017, arXiv:1608.03983).
// linear with final_factor 0 equals transformers' get_linear_schedule_with_warmup but for its warm-up, which
// starts at 0 and so wastes the first step.
#pragma once

#include <cstdint>
#include <functional>

#include "core/kernel/config/train_config.h"

namespace switchyard::train {

struct Schedule {
    config::ScheduleKind kind = config::ScheduleKind::linear;
    std::int64_t warmup_steps = 0;
    std::int64_t total_steps = 1;
    double final_factor = 0.0;

    // `step` counts from 0; past the end the factor stays what it was at the end.
    double factor(std::int64_t step) const;
};

// Batches of the epochs of a job.
struct EpochSizes {
    std::function<std::int64_t(std::int64_t epoch)> batches;
    bool alike = true;  // the same number for each epoch
};

// Throws std::invalid_argument where train.epochs make more steps than train.steps may ask for.
Schedule schedule_of(const config::TrainConfig& train, const EpochSizes& epochs);

}  // namespace switchyard::train
