// A job that is going to run on this machine: configuration, plugins, plan, and the process set up for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/distributed/together.h"

namespace switchyard::cli {

struct PlannedJob {
    config::Config config;
    std::vector<std::string> files;  // that it was read from
    HostInfo host;
    std::unique_ptr<runtime::Registry> registry;
    resolver::Plan plan;
};

// What is planned: the phases of run.phases; or eval alone, where nothing is trained and parameters may be
// stored in few bits; or with it prefill and decode, where the model has them.
enum class Purpose { as_configured, inference, generation };

void set_phases(config::Config& config, Purpose purpose);

struct PlanOptions {
    Missing missing = Missing::leave;  // of what `auto` goes by
    std::string recorded = {};         // plan.json of a run that goes on: its choices stay; empty: none
    Purpose purpose = Purpose::as_configured;
    // Called before components are timed, which may take a minute: what can be wrong is to be told first.
    std::function<void(const config::Config&)> before_timing = {};
    Restart restart = Restart::allowed;
    // Of the process that trains, among those that share it: distributed.mesh has to fit, and says what part
    // of the model it has. nullopt: nothing is shared, the model is whole.
    std::optional<distributed::Place> place = {};
    // Of an arm: the times by which the comparison chose, whether or not they could be kept.
    std::vector<resolver::Measurement> measured = {};
};

// Sets threads and the CPU allocator as [runtime] says. Throws Failure with everything that is wrong with the
// configuration or cannot be served.
std::unique_ptr<PlannedJob> plan_job(const JobOptions& options, const PlanOptions& plan = {});

}  // namespace switchyard::cli
