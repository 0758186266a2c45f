// What only training needs. A configuration without it is none the worse for plans and timings, so load()
// says nothing of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/config.h"

namespace switchyard::config {

// Whether run.phases has train: else there is no optimizer and no loader of batches to train on.
bool trains(const Config& config);

// "job.toml:12:3: error: data.train: ". Of a key that nobody wrote: the place where its section begins, or
// else the file.
std::string told_at(const Config& config, std::string_view key);

// Each is one line with its place, or empty.
std::string labels_problem(const Config& config);
std::string files_problem(const Config& config);
std::string vocabulary_problem(const Config& config);
std::string phases_problem(const Config& config);
// Whether the program of log.command can be run.
std::string log_command_problem(const Config& config);
// `pieces`: of the vocabulary that the tokenizer has.
std::string vocabulary_size_problem(const Config& config, std::int64_t pieces);

}  // namespace switchyard::config
