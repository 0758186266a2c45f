// label_scale.json of a run: what a regression's labels were scaled by, so that its model's predictions are
// told in units of the data.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/data/label_scale.h"

namespace switchyard::train {

// {"columns": [{"name": "logp", "mean": 1.5, "deviation": 0.3}, ...]}
std::string label_scale_text(const data::LabelScale& scale, const std::vector<std::string>& names);

// Throws InputError naming the file where it is not there, is damaged, or is of other columns than `names`.
data::LabelScale read_label_scale(const std::string& path, const std::vector<std::string>& names);

}  // namespace switchyard::train
