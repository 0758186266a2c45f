// A job that is going to generate text: with the phases of decoding over a cache, where its components serve
// them.
#pragma once

#include <memory>

#include "core/workbench/cli/planned_job.h"

namespace switchyard::cli {

// As plan_job, with the phases prefill and decode beside those of training. `cached` false: without them.
// Where they cannot be planned a note says why, and the whole text goes through the model for every token.
std::unique_ptr<PlannedJob> plan_generation(const JobOptions& options, bool cached,
                                            const PlanOptions& plan = {});

}  // namespace switchyard::cli
