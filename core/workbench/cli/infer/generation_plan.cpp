#include "core/workbench/cli/infer/generation_plan.h"

#include <iostream>
#include <string>

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

std::unique_ptr<PlannedJob> plan_generation(const JobOptions& options, bool cached, PlanOptions plan) {
    std::string why;
    if (cached) {
        plan.purpose = Purpose::generation;
        try {
            return plan_job(options, plan);
        } catch (const Failure& failure) {
            why = failure.what();
        }
    }
    plan.purpose = Purpose::inference;
    auto planned = plan_job(options, plan);  // throws where the cache was not the reason
    if (!why.empty())
        std::cerr << "note: generating without a cache, which takes longer: " +
                         why.substr(0, why.find('\n')) + "\n";
    return planned;
}

}  // namespace switchyard::cli
