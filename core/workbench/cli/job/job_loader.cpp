#include "core/workbench/cli/job/job_loader.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/kernel/machine/host_info.h"
#include "core/kernel/resolver/request_fields.h"
#include "core/kernel/resolver/resolver.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/planning.h"

namespace switchyard::cli {
namespace {

resolver::SlotUse loader_use(const config::Config& config) {
    for (auto& use : model::outline(config, model::configured_dtypes(config))) {
        if (use.kind == Kind::data_loader && use.phase == Phase::train) return std::move(use);
    }
    throw Failure(config.where("run.phases") +
                  ": error: run.phases: has no train; expected it, to say what is "
                  "trained on");
}

resolver::PlanRow resolved(const resolver::SlotUse& use, const std::vector<resolver::Candidate>& candidates,
                           const LoaderJob& job) {
    resolver::ResolveOptions options;
    options.explain = false;
    options.written_at = [&](std::string_view key) { return job.config.written_at(key); };
    return resolver::resolve(use, candidates, job.host, options);
}

}  // namespace

std::unique_ptr<LoaderJob> loader_job(const JobOptions& options) {
    auto here = options;
    here.overrides.emplace_back("run.device=cpu");
    here.overrides.emplace_back("train.cuda_graph=false");
    auto made = std::make_unique<LoaderJob>();
    made->host = machine::this_host(machine::Look::cpu_only);
    auto job = load_job(here, made->host);
    made->config = std::move(job.config);
    made->registry = std::make_unique<runtime::Registry>(std::move(job.records));
    return made;
}

resolver::PlanRow chosen_loader(LoaderJob& job) {
    auto row = resolved(loader_use(job.config), model::candidates(*job.registry), job);
    if (!row.chosen) throw Failure("data_loader: " + row.error);
    return row;
}

std::vector<resolver::PlanRow> all_loaders(LoaderJob& job) {
    const auto candidates = model::candidates(*job.registry);
    const auto use = loader_use(job.config);
    std::vector<resolver::PlanRow> rows;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind != Kind::data_loader) continue;
        auto named = use;
        named.config.backend = {candidate.full_name()};
        auto row = resolved(named, candidates, job);
        if (!row.chosen) {
            auto request = resolver::clone(Kind::data_loader, *use.request);
            request->layout = use.request->layout == Layout::packed ? Layout::padded : Layout::packed;
            named.request = std::move(request);
            auto other = resolved(named, candidates, job);
            if (other.chosen) row = std::move(other);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace switchyard::cli
