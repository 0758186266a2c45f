// Which arms a comparison has, from what a user wrote.
//
// No LibTorch here.
#pragma once

#include <map>
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
    std::vector<std::string> stacks;         // "torch+precision=torch/bf16": stack_arm.h
    std::vector<std::string> arms;           // "name: KEY=VALUE KEY=VALUE"
    std::vector<std::string> programs = {};  // "name: COMMAND WORD WORD"
    // Of `vary` not all combinations, but the first values and each other value alone on top of them.
    bool one_at_a_time = false;
};

// "attention.backend=naive" as "attention=naive": what a slot's main choice is goes without saying.
std::string short_name(const std::string& override);

// First the product of all `vary`, then the stacks, the arms, the programs, then the [[arm]] tables of the
// configuration. Where that is fewer than `least`, or only programs, the configuration as it stands
// comes before them; `least` of 2 wants one arm of it to be written at least.
ArmList list_arms(const WrittenArms& written, const std::vector<config::ArmConfig>& tables,
                  std::size_t least = 2);

// In which keys that should be equal two configurations differ: [model], [data], [batch] but its layout,
// [task], run.seed, train.weights. "model.layers: 6, the base has 12". `other_batches`: arms are compared by
// sample, so that only the length of samples counts of [batch].
std::vector<std::string> unfair_differences(const config::Config& base, const config::Config& arm,
                                            Operation operation = Operation::step,
                                            bool other_batches = false);

// Those keys with their values, by which a recording tells what it is of. Of paths the name alone: a checkout
// may lie elsewhere.
std::map<std::string, std::string> shared_values(const config::Config& config, Operation operation);

}  // namespace switchyard::compare
