// A plan for many ranks as it reads on a terminal.
#pragma once

#include <string>

#include "core/workbench/scale/scale_plan.h"

namespace switchyard::cli {

// Lines of at most 110 columns.
std::string ranks_text(const scale::ScalePlan& plan);

}  // namespace switchyard::cli
