// The message with which `switchyard compare` makes its arms prepare: docs/compare.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/compare/arms/workload.h"
#include "core/workbench/compare/experiment/experiment.h"

namespace switchyard::cli {

// Model and task as external arms are told of them.
nlohmann::ordered_json arm_model_json(const config::Config& config);
nlohmann::ordered_json arm_task_json(const config::Config& config);

// The times by which `auto` chose when the arms were checked, for the arms that are of this program.
nlohmann::ordered_json arm_measured_json(const CheckedArms& arms);

struct MessageOptions {
    JobOptions job;
    std::string folder;  // for files between arms
    compare::Operation operation = compare::Operation::step;
    std::int64_t samples = 0;  // of a pass
    std::string lengths;       // of random samples
    std::int64_t loss_steps = 0;
    int seeds = 0;
    std::optional<compare::Workload> workload = {};  // of Operation::generate: the pass
    std::int64_t eval_samples = 0;                   // after the last step of a seed, at most; 0: none
};

class ArmMessages {
public:
    // `arms` outlives it.
    ArmMessages(const CheckedArms& arms, MessageOptions options);

    nlohmann::ordered_json prepare(const compare::Preparation& what) const;
    // To an arm of this program that writes the batches which an external one loads, where these are none of
    // the reference arm's; nothing: they are.
    std::optional<nlohmann::ordered_json> batch_writer(const compare::Preparation& what) const;
    // What the batches hold that were written for an arm; nothing where it makes its own, or
    // they are prompts, of which each arm says how many tokens it has read.
    std::vector<compare::StepCounts> written_steps(const compare::Preparation& what) const;
    // Where an arm writes logits and gradients of its first step.
    std::string first_step_file(std::size_t arm) const;
    // How far the first step of an arm is from that of another.
    compare::Drift drift(std::size_t arm, std::size_t base) const;

private:
    std::int64_t cycle(const compare::Preparation& what) const;
    std::string shared_folder(int seed) const;
    // Of the batches that an external arm loads.
    std::string batches_folder(const compare::Preparation& what) const;
    void add_configuration(nlohmann::ordered_json& message, const compare::Preparation& what) const;

    const CheckedArms& arms_;
    MessageOptions options_;
    bool external_ = false;
};

// The shortest experiment: each arm starts once, warms up for two turns and takes one of so many steps.
// Nothing is timed to be believed. `timeout`: seconds, of one answer. `messages` outlives it.
compare::ExperimentSettings one_turn_each(const ArmMessages& messages, std::int64_t steps, double timeout,
                                          std::function<bool()> stop);

}  // namespace switchyard::cli
