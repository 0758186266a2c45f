// The roofs of a machine as pages draw them: a roofline without any dots.
//
// No LibTorch here.
#pragma once

#include <string>

#include "core/workbench/profile/profile.h"
#include "core/workbench/report/svg_roofline.h"

namespace switchyard::profile {

report::Roofline roofline_below(const Roofs& roofs, const std::string& title);
// What its lines are: "flat lines are ..."
std::string lines_of_roofs(const Roofs& roofs);

}  // namespace switchyard::profile
