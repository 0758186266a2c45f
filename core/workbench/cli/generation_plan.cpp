#include "core/workbench/cli/generation_plan.h"

#include <iostream>
#include <string>

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

std::unique_ptr<PlannedJob> plan_generation(const JobOptions& options, bool cached, const PlanOptions& plan) {
    if (!cached) return plan_job(options, plan);
    auto job = options;
    job.implied.push_back({"generating", R"(run.phases=["train", "eval", "prefill", "decode"])"});
    std::string why;
    try {
        return plan_job(job, plan);
    } catch (const Failure& failure) {
        why = failure.what();
    }
    auto planned = plan_job(options, plan);  // throws where that was not the reason
    const bool decodes = planned->config.model.type != config::ModelType::bert;
    if (decodes)
        std::cerr << "note: generating without a cache, which takes longer: " +
                         why.substr(0, why.find('\n')) + "\n";
    return planned;
}

}  // namespace switchyard::cli
