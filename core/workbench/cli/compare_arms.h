// Arms of `switchyard compare` before anything runs: everything that is wrong with any of them, at once.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/workbench/cli/job.h"
#include "core/workbench/compare/experiment/arm_list.h"

namespace switchyard::cli {

struct ArmsRequest {
    JobOptions job;  // the configuration, with what is set for all arms
    compare::WrittenArms written;
    bool force = false;  // compare what is no fair comparison, and say so
};

struct CheckedArms {
    std::vector<compare::ArmSpec> arms;
    config::Config config;          // of the first own arm
    std::size_t reference_arm = 0;  // that one
};

// Throws Failure with all problems of all arms: values, backends that cannot serve, programs that are not
// there, unfair comparisons.
CheckedArms check_arms(const ArmsRequest& request, const HostInfo& host);

}  // namespace switchyard::cli
