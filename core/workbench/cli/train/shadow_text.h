// What shadows found (core/workbench/train/shadow), for files and for people.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/train/shadow/shadow_lines.h"
#include "core/workbench/train/trainer.h"

namespace switchyard::cli {

// Of all steps of this process; empty: nothing was shadowed.
train::ShadowLines all_shadow_lines(const train::TrainingResult& result);

// "shadow" of summary.json.
nlohmann::ordered_json shadow_json(const train::ShadowLines& lines);
// "shadow" of a line of metrics.jsonl: the same of one step, in short.
nlohmann::ordered_json shadow_step_json(const train::ShadowLines& lines);

// A few lines for each slot, with an end of line; empty: there are none.
std::string shadow_text(const train::ShadowLines& lines);

}  // namespace switchyard::cli
