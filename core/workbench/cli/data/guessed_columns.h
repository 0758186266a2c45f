// The columns of a table that no configuration describes: where it lacks those that are the default, others
// that look like it.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

struct GuessedColumns {
    std::string file;
    std::string text, pair, label, target;  // "": that of the default is there, or none looks like it
};

// Of the first of `files`. `task`: what the model was trained for, with its labels, which a column of labels
// holds. `answers`: a second text stands in a file of its own.
GuessedColumns guess_columns(const std::vector<std::string>& files, const config::TaskConfig& task,
                             bool answers);

void imply(const GuessedColumns& columns, JobOptions& job);

// A line that says which columns were taken and what says it otherwise; "" where none of them was guessed.
std::string told(const GuessedColumns& columns, const config::DataConfig& data);

}  // namespace switchyard::cli
