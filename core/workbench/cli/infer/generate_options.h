// What `generate` is asked for on its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/cli/data/text_rows.h"
#include "core/workbench/cli/infer/generation_output.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/infer/generate.h"

namespace CLI {
class App;
}

namespace switchyard::cli {

struct WriteOptions {
    std::string run_or_config;
    std::string weights;
    std::string prompt;  // @FILE: what is in it; @@ begins a text with @
    bool prompt_given = false;
    std::string prompts;  // a file of lines; empty: there are `files`, or `prompt` alone
    TextFiles files;
    JobOptions job;
    infer::GenerateOptions generate;
    std::vector<std::string> stop_tokens;  // texts, or #NUMBER
    bool no_cache = false;
    std::string draft;
    std::int64_t draft_tokens = 4;
    GenerationOutputOptions output;
};

void add_generate_options(CLI::App& command, WriteOptions& options);

// Throws Failure for options that do not go together.
void check_together(const CLI::App& command, const WriteOptions& options);

// The prompt, read from a file where it names one. Throws Failure.
std::string prompt_of(const WriteOptions& options);

// Numbers of --stop-token; throws Failure for one that is no token.
infer::Ids stop_tokens_of(const WriteOptions& options, const data::Tokenizer& tokenizer);

}  // namespace switchyard::cli
