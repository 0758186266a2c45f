// The data loader of a job without its model: enough to say what batches it makes.
#pragma once

#include <memory>
#include <vector>

#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

struct LoaderJob {
    config::Config config;  // on the CPU, where loaders make their batches
    HostInfo host;
    std::unique_ptr<runtime::Registry> registry;
};

std::unique_ptr<LoaderJob> loader_job(const JobOptions& options);

// The loader that the job is trained with, as [data_loader] says; auto goes by priority. Throws Failure where
// none serves it.
resolver::PlanRow chosen_loader(LoaderJob& job);

// Each loader of each plugin, in the layout that it serves: the job's, or else the other one. Those that
// serve neither have no choice but an error.
std::vector<resolver::PlanRow> all_loaders(LoaderJob& job);

}  // namespace switchyard::cli
