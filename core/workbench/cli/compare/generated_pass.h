// What a pass of `switchyard compare --operation generate` is: how many prompts, how long, and how many new
// tokens after each.
#pragma once

#include <cstdint>
#include <string>

#include "core/kernel/config/config.h"
#include "core/workbench/compare/arms/workload.h"

namespace switchyard::cli {

// As a user wrote it.
struct GeneratedPass {
    std::int64_t samples = 0, tokens = 0;  // 0: not said
    std::string lengths;                   // of random prompts; empty: not said
};

// Why that model writes nothing, or "".
std::string generation_problem(const config::Config& config);

// Prompts leave room for the new tokens in batch.max_length, which layers are planned for. Throws Failure
// where that has none, naming the options.
compare::Workload workload_of(const GeneratedPass& pass, const config::Config& config);

// "generation, 64 tokens after each of 8 prompts a pass, random tokens, 192 a prompt".
std::string generation_text(const compare::Workload& workload, const config::Config& config);

}  // namespace switchyard::cli
