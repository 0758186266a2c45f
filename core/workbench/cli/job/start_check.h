// What `train` would refuse when it starts, beyond the mistakes of the configuration itself, found without
// LibTorch and without running any code of a plugin: unknown backends, files that are not there or are
// something else, columns and labels that do not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

// Each a line with its place. Of the data the first rows of each file are looked at.
std::vector<std::string> start_problems(const Job& job);

// What a command reads of the data: nothing; the samples that the job trains on; or these, to train.
enum class Reading : std::uint8_t { nothing, samples, to_train };

// Of these, what any command comes upon that makes the model - labels, names of [[group]], weights - and what
// one does that then reads.
std::vector<std::string> input_problems(const config::Config& config, Reading reading);

}  // namespace switchyard::cli
