// Scores under the names that a run's records have them by: "macro_f1", and of one class "f1/LABEL".
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace switchyard::score {

using Metrics = std::vector<std::pair<std::string, double>>;

}  // namespace switchyard::score
