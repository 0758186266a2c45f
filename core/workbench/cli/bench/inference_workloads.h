// On what `switchyard bench inference` times a model, from what a user wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/compare/arms/operation.h"
#include "core/workbench/compare/arms/workload.h"

namespace switchyard::cli {

struct WorkloadOptions {
    std::vector<std::int64_t> batches, tokens;  // empty: not said
    std::vector<std::string> lengths;

    // What is not said becomes one prompt of 16 tokens, and 100, 500 and 1000 new ones.
    void default_to_cache_table();
};

// Tokens of the longest row of a stack of that model.
std::int64_t longest_row(const compare::Workload& workload, const config::Config& config);

// Models of causal_lm and seq2seq generate, unless --tokens 0 is all that is asked of them. Throws Failure
// where a model that generates nothing is asked for tokens, or both are asked for at once.
compare::Operation operation_of(const config::Config& config, const WorkloadOptions& options);

// Every batch with every length and every number of tokens. Throws Failure where one is longer than the model
// has positions, naming the options.
std::vector<compare::Workload> list_workloads(const WorkloadOptions& options, const config::Config& config,
                                              compare::Operation operation);

}  // namespace switchyard::cli
