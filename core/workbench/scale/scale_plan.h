// How a training would run on so many ranks: memory of each, what travels, and a simulated time line of a
// step (step_timeline.h), at that number and at powers of two below it.
//
// What one rank takes by itself is told (measured), or worked out from the step's FLOPs and a share of what
// the machine multiplies at its best. Each module's share of backward is its FLOPs'.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/config/config.h"
#include "core/kernel/machine/machine_rates.h"
#include "core/workbench/scale/rank_memory.h"
#include "core/workbench/scale/stage_plan.h"
#include "core/workbench/scale/step_timeline.h"

namespace switchyard::scale {

struct ScaleSettings {
    std::int64_t ranks = 2;
    std::optional<double> step_ms;  // of one rank by itself, measured; else worked out from `rates`
    double utilization = 0.4;       // of the machine's products, where it is worked out
    machine::MachineRates rates;
    bool trees = false;                    // of several hosts (network.h)
    DType multiplied_in = DType::float32;  // most products of a step
    std::int64_t memory_bytes = 0;         // of a rank's device, or of its share of the machine; 0: not known
    std::string of_rates;                  // where the rates are from: "h100"
    Trained trained;                       // asked by plan_scale alone
};

struct ScalePlan {
    ScaleSettings settings;
    RankMemory memory;              // of the stage that needs most
    double step_flops = 0.0;        // of one rank, of the stage that computes most
    std::int64_t samples = 0;       // of a step of one rank, or of those that have a model together
    std::int64_t tensor_ranks = 1;  // that have a part of each layer
    std::vector<StagePlan> stages;  // of a pipeline; one: a rank has all layers
    std::int64_t micro_batches = 1;
    double bubble = 0.0;              // of the time of forward and backward, what stages wait for each other
    std::vector<StepTimeline> steps;  // by number of ranks: 1, 2, 4, ... times these; the last was asked for
    std::int64_t messages = 0;        // that a rank sends in a step
    double sent_bytes = 0.0;          // and what is in them

    const StepTimeline& asked() const { return steps.back(); }
    // That have a model together.
    std::int64_t model_ranks() const { return tensor_ranks * static_cast<std::int64_t>(stages.size()); }
};

// Throws base::InputError where a rate that is needed is not known, saying how to tell it, and where so many
// ranks are not the mesh that distributed.mesh says.
ScalePlan plan_scale(const config::Config& config, const ScaleSettings& settings);

nlohmann::ordered_json to_json(const ScalePlan& plan);

}  // namespace switchyard::scale
