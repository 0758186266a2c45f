// What `switchyard compare` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/cli/compare/generated_pass.h"
#include "core/workbench/cli/json_lines.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/compare/arms/operation.h"
#include "core/workbench/compare/gate/gate.h"
#include "core/workbench/compare/ladder/ladder.h"

namespace switchyard::cli {

struct CompareOptions {
    ArmsRequest arms;
    std::string operation{name(compare::Operation::step)};
    std::int64_t samples = 0;  // 0: not said
    std::int64_t tokens = 0;   // new ones, of Operation::generate; 0: not said
    int blocks = 0;
    int rounds = 0;
    std::int64_t steps_per_block = 0;
    double seconds = 60.0;
    double timeout = 300.0;
    std::uint64_t order = 0;
    int seeds = 0;
    std::int64_t steps = 0;
    std::int64_t eval_samples = 0;  // after the last step of a seed; 0: not said
    std::string loss_equivalence;
    std::string lengths;
    JsonOption json;
    JsonLinesOption lines;  // of blocks
    std::string html, csv;
    std::string fastest;
    std::string fail_on, junit, markdown, baseline;
    compare::GateRules gate;  // of fail_on
    std::string ladder_file, scale;
    std::optional<compare::Ladder> ladder;
    bool dry_run = false;
    bool yes = false;
};

// Not of Operation::generate.
std::int64_t samples_of_pass(const CompareOptions& options);
// That are evaluated at most.
std::int64_t eval_samples_of(const CompareOptions& options);
GeneratedPass generated_pass(const CompareOptions& options);

// Throws Failure for options that mean nothing for the operation, or beside the others.
void check_operation(const CompareOptions& options);

// "bert, 2 layers, hidden 64; 4 samples a step, random tokens, 16 a sample".
std::string describe(const CompareOptions& options, const CheckedArms& checked);

}  // namespace switchyard::cli
