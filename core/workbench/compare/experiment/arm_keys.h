// Values of an arm that are no keys of the configuration and stand beside them: "ranks=2", processes that
// share its steps, and "slowed=3", percent by which each of its steps is made to take longer, of an arm that
// a comparison has to find slower (self_test.h).
//
// No LibTorch here.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// The values that are keys of the configuration.
std::vector<std::string> without_arm_keys(const std::vector<std::string>& overrides);

// Takes ArmSpec::ranks and slowed from the values; what is wrong with them, or "".
std::string read_arm_keys(ArmSpec& arm);

}  // namespace switchyard::compare
