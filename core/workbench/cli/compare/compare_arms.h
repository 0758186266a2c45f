// Checks all arms of `switchyard compare` before anything runs, and reports all their mistakes at once.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/resolver/measurement.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/compare/experiment/arm_list.h"
#include "core/workbench/compare/ladder/ladder_report.h"

namespace switchyard::cli {

struct ArmsRequest {
    JobOptions job;  // the configuration, with what is set for all arms
    compare::WrittenArms written;
    compare::Operation operation = compare::Operation::step;
    bool force = false;  // compare arms that are no fair comparison too, and mark them
    Purpose purpose = Purpose::as_configured;
    std::size_t least = 2;  // arms; where there are fewer, the configuration as it stands comes first
    // Of a ladder: these instead of what is written, and those that cannot be served here are left out. Their
    // batches may differ.
    std::vector<compare::ArmSpec> rungs = {};
    std::string rungs_from = {};  // the file
    std::size_t most = 0;         // arms or rungs that are compared without --yes; 0: any number
    // What else speaks against a configuration that can be served; empty: nothing.
    std::function<std::string(const config::Config&, const resolver::Plan&)> further_problem = {};
    bool reads_data = false;  // for what is not as configured too: of the job's samples
};

struct CheckedArms {
    std::vector<compare::ArmSpec> arms;
    std::vector<std::string>
        chosen;  // by arm: "attention torch, linear gemm/float32", or the program's command
    std::vector<compare::RungPlace> places;      // of ArmsRequest::rungs, in their order
    config::Config config;                       // of the reference arm
    std::size_t reference_arm = 0;               // the first that is no external program
    std::map<std::size_t, config::Config> told;  // of external arms that are rungs: what they are told of
    // What `auto` went by: arms choose by it too, for not all of it could be kept.
    std::vector<resolver::Measurement> measured;

    const config::Config& told_of(std::size_t arm) const {
        const auto own = told.find(arm);
        return own == told.end() ? config : own->second;
    }
};

// Throws Failure with all problems of all arms: values, backends that cannot serve, programs and files that
// are not there, unfair comparisons. Of rungs only those that are mistakes.
CheckedArms check_arms(const ArmsRequest& request, const HostInfo& host);

}  // namespace switchyard::cli
