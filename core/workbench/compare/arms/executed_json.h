// What really ran, as summaries and comparisons hold it.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/model/bound_plan.h"

namespace switchyard::compare {

// Slot by slot, a row for every variant that was called since `before` (the same plan's rows then; empty:
// since the start).
nlohmann::ordered_json executed_json(const std::vector<model::Executed>& executed,
                                     const std::vector<model::Executed>& before = {});

// What several processes called that have a part of the slots each, as if one had called it.
nlohmann::ordered_json joined(const std::vector<nlohmann::ordered_json>& all);

}  // namespace switchyard::compare
