// A job that is going to generate text, over a cache where its components serve that.
#pragma once

#include <memory>

#include "core/workbench/cli/job/planned_job.h"

namespace switchyard::cli {

// As plan_job, for Purpose::generation. `cached` false: for Purpose::inference. So it is, too, where
// prefill and decode cannot be planned: a note says why, and the whole text goes through the model for
// every token.
std::unique_ptr<PlannedJob> plan_generation(const JobOptions& options, bool cached, PlanOptions plan = {});

}  // namespace switchyard::cli
