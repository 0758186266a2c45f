// A step of a pipeline as time: each stage runs its micro-batches in the order of
// core/workbench/model/pipeline_schedule.h, and waits for what has not come yet.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernel/config/distributed_config.h"

namespace switchyard::scale {

// In milliseconds, of one micro-batch.
struct PipelineCosts {
    std::vector<double> forward_ms, backward_ms;  // of each stage
    double send_ms = 0.0;                         // of what a stage hands to the next, or back
    std::int64_t micro_batches = 1;
    config::PipelineSchedule schedule = config::PipelineSchedule::one_forward_one_backward;
};

struct PipelineTime {
    double all_ms = 0.0;           // from the first forward to the last backward
    std::vector<double> waits_ms;  // of that, what each stage computes nothing

    // Of the time of all stages, what they wait: the bubble.
    double bubble() const;
};

PipelineTime simulate_pipeline(const PipelineCosts& costs);

}  // namespace switchyard::scale
