// What `switchyard compare` tells its arms when they prepare: docs/compare.md.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "core/workbench/cli/compare_arms.h"
#include "core/workbench/compare/experiment/experiment.h"

namespace switchyard::cli {

struct MessageOptions {
    JobOptions job;
    std::string folder;   // for files between arms
    std::string lengths;  // of made-up samples
    std::int64_t loss_steps = 0;
    int seeds = 0;
};

class ArmMessages {
public:
    // `arms` outlives it.
    ArmMessages(const CheckedArms& arms, MessageOptions options);

    nlohmann::ordered_json prepare(const compare::Preparation& what) const;
    // What external arms are lent for a seed; nothing where there are none.
    std::vector<compare::LentStep> lent_sizes(int seed) const;
    // Where an arm writes what its first step gives.
    std::string first_file(std::size_t arm) const;

private:
    std::int64_t cycle(const compare::Preparation& what) const;
    std::string lent(int seed) const;

    const CheckedArms& arms_;
    MessageOptions options_;
    bool external_ = false;
};

}  // namespace switchyard::cli
