// The messages that prepare the arms of `switchyard bench inference`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/compare/arms/workload.h"

namespace switchyard::cli {

class InferenceMessages {
public:
    // `arms` outlives it. `job`: the configuration of all arms. `folder`: where arms write what they compute
    // first, and the reference arm what external ones load.
    InferenceMessages(const CheckedArms& arms, JobOptions job, std::string folder,
                      compare::Operation operation, std::vector<compare::Workload> workloads);

    // After the first round nothing is written: what arms compute first and what external ones load is there.
    nlohmann::ordered_json prepare(std::size_t arm, int round) const;
    std::string first_file(std::size_t arm) const;

private:
    const CheckedArms& arms_;
    JobOptions job_;
    std::string folder_;
    compare::Operation operation_;
    std::vector<compare::Workload> workloads_;
};

}  // namespace switchyard::cli
