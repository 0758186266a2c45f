// One step of ranks that divide parameters and gradients (train/parameter_shards.h) as a time line: each
// layer is gathered while the one before it computes, in forward and again in backward; its gradients are
// summed up piece by piece behind it. Gathers and sums go one after the other over one link.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/model/describer.h"
#include "core/workbench/scale/network.h"
#include "core/workbench/scale/step_timeline.h"
#include "core/workbench/scale/step_work.h"

namespace switchyard::scale {

// What is gathered at once: the matrices of a layer, or what is left, the root.
struct DividedUnit {
    std::int64_t values = 0;
    std::int64_t trained = 0;    // of them: they have gradients
    std::size_t parameters = 0;  // with gradients
    Flops flops;
};

std::int64_t values_of(const model::DescribedParameter& parameter);

// Layers in the order in which forward uses them, and then the root. `flops`: of each parameter.
std::vector<DividedUnit> divided_units(const config::Config& config,
                                       const std::vector<model::DescribedParameter>& parameters,
                                       const std::vector<Flops>& flops, const Trained& trained);

struct DividedCosts {
    std::vector<DividedUnit> units;
    std::int64_t value_bytes = 4;
    std::int64_t accumulated = 1;  // micro-batches
    // Of one rank by itself.
    double products_ms = 0.0, optimizer_ms = 0.0;
    double waits_ms = 0.0;  // of the former, for those that have other parts of the layers
};

// Its buckets are the sums of the last micro-batch, gather_ms is what forward and backward wait for gathers.
StepTimeline simulate_divided_step(const DividedCosts& costs, std::int64_t ranks,
                                   const Collectives& collectives, double wire_share = 1.0);

// What each rank sends in a step.
struct Sent {
    std::int64_t messages = 0;
    double bytes = 0.0;
};
Sent sent_in_divided_step(const DividedCosts& costs, std::int64_t ranks, double wire_share = 1.0);

}  // namespace switchyard::scale
