#include "core/workbench/cli/job/planned_job.h"

#include <iostream>
#include <set>
#include <string>
#include <utility>

#include "core/kernel/config/mesh_checks.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/job/layout_choice.h"
#include "core/workbench/cli/job/plan_text.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/distributed/mesh.h"
#include "core/workbench/model/planning.h"

namespace switchyard::cli {

void set_phases(config::Config& config, Purpose purpose) {
    if (purpose == Purpose::as_configured) return;
    config.run.phases = {Phase::eval};
    if (purpose == Purpose::generation && config.model.type != config::ModelType::bert)
        config.run.phases.insert(config.run.phases.end(), {Phase::prefill, Phase::decode});
}

namespace {

void take_place(config::Config& config, const distributed::Place& place) {
    if (const auto problem = config::mesh_problem(config, place.world_size); !problem.empty())
        throw Failure(problem);
    config.distributed.part = distributed::layer_part(config.mesh, place);
    config.distributed.stage = distributed::layer_stage(config.mesh, place);
}

}  // namespace

std::unique_ptr<PlannedJob> plan_job(const JobOptions& options, const PlanOptions& plan) {
    auto planned = std::make_unique<PlannedJob>();
    planned->host = machine::this_host(machine::Look::with_devices);
    auto job = load_job(options, planned->host);
    planned->config = std::move(job.config);
    planned->files = std::move(job.files);
    if (plan.place) take_place(planned->config, *plan.place);
    const auto& runtime = planned->config.runtime;
    set_up_runtime(runtime, plan.restart);
    if (runtime.threads > planned->host.cores)
        std::cerr << ("warning: runtime.threads: " + std::to_string(runtime.threads) +
                      " threads compete for the " + std::to_string(planned->host.cores) +
                      " cores that this process may use\n");
    load_device(planned->host, planned->config.run.device);
    planned->registry = std::make_unique<runtime::Registry>(std::move(job.records));
    const auto layout =
        decide_layout(planned->config, *planned->registry, planned->host, plan.missing, plan.recorded);
    set_phases(planned->config, plan.purpose);
    if (plan.before_timing) plan.before_timing(planned->config);
    auto choice =
        auto_choice(planned->config, *planned->registry, planned->host, plan.missing, plan.measured);
    if (!plan.recorded.empty()) choice.chooser = as_recorded(plan.recorded, std::move(choice.chooser));
    // Components that are not named and not in question are not asked, so that their plugins stay closed;
    // where something is wrong, they may be what is there instead.
    choice.explain = false;
    const auto make = [&] {
        return model::make_plan(planned->config, *planned->registry, planned->host, choice,
                                plan.recorded.empty() ? model::Planned::first : model::Planned::again);
    };
    planned->plan = make();
    if (!planned->plan.ok()) {
        choice.explain = true;
        planned->plan = make();
    }
    note_layout(planned->plan, layout);
    if (!planned->plan.ok()) throw Failure(plan_problems(planned->plan));
    std::set<std::string> told;
    std::cerr << plan_warnings(planned->plan, told);
    return planned;
}

}  // namespace switchyard::cli
