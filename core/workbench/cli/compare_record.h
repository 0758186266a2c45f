// What `switchyard compare` shows on a page, from the comparison itself.
#pragma once

#include "core/workbench/compare/experiment/comparison.h"
#include "core/workbench/report/comparison_record.h"

namespace switchyard::cli {

// All but what was compared, where and by which command.
report::ComparisonRecord compare_record(const compare::Comparison& comparison);

}  // namespace switchyard::cli
