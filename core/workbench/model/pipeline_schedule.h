// In which order one stage of a pipeline runs the micro-batches of a step, as a list that says nothing of
// how (train/pipeline_step.h does it).
//
// GPipe (Huang et al. 2019, arXiv:1811.06965, figure 2c): forward of all micro-batches, then backward of all,
// the last one first, so that a stage keeps the activations of all of them. One forward, one backward
// (Narayanan et al. 2021, arXiv:2104.04473, section 2.2.1, "PipeDream-Flush"): each stage runs as many
// forwards ahead as there are stages behind it, and then backward and forward in turns, so that it keeps the
// activations of as many micro-batches as there are stages from it to the last one. Both end with all
// backwards done, and leave stages idle for as long.
//
// What is sent is only begun to be: a stage waits for what it receives, and for what it sent before where
// that says so below.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernel/config/distributed_config.h"

namespace switchyard::model {

enum class StageAct : std::uint8_t {
    receive_forward,  // what the stage before made
    forward,
    send_forward,
    receive_backward,  // its gradient, from the stage behind: what was sent forward has arrived by then
    backward,
    send_backward,  // after the one before has arrived
};

struct StageOp {
    StageAct act;
    std::int64_t micro_batch;
    bool operator==(const StageOp&) const = default;
};

std::vector<StageOp> stage_ops(config::PipelineSchedule schedule, std::int64_t stage, std::int64_t stages,
                               std::int64_t micro_batches);

// Micro-batches whose forward has run and whose backward has not, at most.
std::int64_t most_kept(config::PipelineSchedule schedule, std::int64_t stage, std::int64_t stages,
                       std::int64_t micro_batches);

// Of a step in which all stages take equally long: the share of time in which a stage waits.
double bubble_share(std::int64_t stages, std::int64_t micro_batches);

}  // namespace switchyard::model
