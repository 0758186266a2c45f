// The plan of a job that several ranks train: that of the first one, who measures what `auto` goes by.
#pragma once

#include <memory>

#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/train/train_ranks.h"

namespace switchyard::cli {

// `ranks`: nullptr where this process trains alone. Throws as plan_job does.
std::unique_ptr<PlannedJob> plan_for(const JobOptions& job, const PlanOptions& plan, TrainRanks* ranks);

}  // namespace switchyard::cli
