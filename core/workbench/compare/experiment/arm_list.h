// Which arms a comparison has, from what a user wrote.
//
// No LibTorch here.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/arm_config.h"
#include "core/kernel/config/config.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

struct ArmList {
    std::vector<ArmSpec> arms;
    std::vector<std::string> problems;
};

// What the command line says of arms.
struct WrittenArms {
    std::vector<std::string>
        vary;  // "attention.backend=naive,torch"; a comma within brackets or quotes divides
               // nothing
    std::vector<std::string> stacks;  // "torch+precision=torch/bf16": stack_arm.h
    std::vector<std::string> arms;    // "name: KEY=VALUE KEY=VALUE"
};

// First the product of all `vary`, then the stacks, then the arms, then the [[arm]] tables of the
// configuration.
// Where that is one arm only, the configuration as it stands comes before it.
ArmList list_arms(const WrittenArms& written, const std::vector<config::ArmConfig>& tables);

// In which keys that should be equal two configurations differ: [model], [data], [batch] but its layout,
// [task], run.seed, train.weights.
// "model.layers: 6, the base has 12".
std::vector<std::string> unfair_differences(const config::Config& base, const config::Config& arm,
                                            Operation operation = Operation::step);

}  // namespace switchyard::compare
