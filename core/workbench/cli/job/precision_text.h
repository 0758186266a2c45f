// What `switchyard precision` shows: tables of at most 110 columns, and the same as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/base/terminal.h"
#include "core/workbench/train/precision/observed_values.h"

namespace switchyard::cli {

base::Text formats_table();
nlohmann::ordered_json formats_json();

// A line for each record: the dtypes of what it is given, computes in and returns.
base::Text dtypes_table(const std::vector<train::OperationRecord>& records);
// A line for each record, or with `tensors` for each of its tensors: how many values, how small and how
// large.
base::Text ranges_table(const std::vector<train::OperationRecord>& records, bool tensors);
// Likewise: which share of the values each format would lose, after lines for all parameters, activations and
// gradients together.
std::string fit_table(const std::vector<train::OperationRecord>& records, bool tensors);

nlohmann::ordered_json operations_json(const std::deque<train::OperationRecord>& records);

}  // namespace switchyard::cli
