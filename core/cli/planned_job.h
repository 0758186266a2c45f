// A job that is going to run on this machine: configuration, plugins, plan, and the process set up for it.
#pragma once

#include <memory>

#include <switchyard/cli/command.h>
#include <switchyard/cli/job.h>
#include <switchyard/host/plugin_library.h>
#include <switchyard/resolver/plan.h>

namespace switchyard::cli {

struct PlannedJob {
    config::Config config;
    HostInfo host;
    std::unique_ptr<host::Registry> registry;
    resolver::Plan plan;
};

// Sets threads and the CPU allocator as [runtime] says. Throws Failure with everything that is wrong with the configuration or cannot be served.
std::unique_ptr<PlannedJob> plan_job(const JobOptions& options);

// The same action, where what is wrong with a job's input is a Failure.
Action telling_input_errors(Action action);

}  // namespace switchyard::cli
