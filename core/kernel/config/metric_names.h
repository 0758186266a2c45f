// What an evaluation can say of a task, by the names that records and train.keep_best have for it, and which
// way each gets better.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/config.h"

namespace switchyard::config {

// Whether the labels of words mark entities, as B-PER and I-PER do.
bool marks_entities(const TaskConfig& task);

// What the labels of a task are called, in their order; of a regression by data.label_column alone: that.
std::vector<std::string> label_names(const Config& config);

// "loss", "accuracy", "f1/good": those that the task has, or none of them where it lacks the data for it.
std::vector<std::string> metric_names(const Config& config);

// Of "mae" or "mae/height".
bool lower_is_better(std::string_view metric);

// The metric that train.keep_best names, "accuracy" of "eval.accuracy"; "" if it names none.
std::string kept_metric(const TrainConfig& train);

}  // namespace switchyard::config
