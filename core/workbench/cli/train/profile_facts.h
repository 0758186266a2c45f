// What `profile` says beside what it observed: the machine's roofs, and what else the job's plan could use.
#pragma once

#include <set>

#include "core/workbench/bench/measure/peaks.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/profile/advice.h"
#include "core/workbench/profile/profile.h"

namespace switchyard::cli {

// Takes some tenths of a second; to be asked before the steps and after them, since whatever disturbs it
// makes a roof lower. Products of float32 and bfloat16, and of the wider and narrower ones that are named.
void sample_roofs(const config::Config& config, const HostInfo& host, const std::set<DType>& named,
                  profile::Roofs& roofs);
void sample_roofs(const PlannedJob& planned, profile::Roofs& roofs);

// Components that were timed before, or are timed now, for slots that take at least a twentieth of a step;
// and the lines of the configuration that would be planned.
profile::JobFacts job_facts(const PlannedJob& planned, const profile::Profile& profile);

}  // namespace switchyard::cli
