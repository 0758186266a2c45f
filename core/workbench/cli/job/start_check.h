// What `train` would refuse when it starts, beyond the mistakes of the configuration itself, found without
// LibTorch and without running any code of a plugin: unknown backends, files that are not there or are
// something else, columns and labels that do not fit.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

// Each a line with its place. Of the data the first rows of each file are looked at.
std::vector<std::string> start_problems(const Job& job);

// Of these, what any command comes upon that makes the model - labels, names of [[group]], weights - and,
// with `reads_data`, one that then trains or reads what the job trains on.
std::vector<std::string> input_problems(const config::Config& config, bool reads_data);

}  // namespace switchyard::cli
