// A comparison of training runs as one HTML page that needs nothing from outside: ratios with their
// intervals, losses over each other, memory, every block, drift, what ran.
#pragma once

#include <string>

#include "core/workbench/report/comparison_record.h"

namespace switchyard::report {

// The whole document, below 500 KB whatever it holds: curves are thinned out, and more than twelve arms are
// in the tables only.
std::string comparison_page(const ComparisonRecord& comparison);

}  // namespace switchyard::report
