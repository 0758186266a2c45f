// One run as one HTML page that needs nothing from outside: verdict, loss, stacks of backends, plan, memory,
// host, configuration.
#pragma once

#include <string>

#include "core/workbench/report/run_record.h"

namespace switchyard::report {

// The whole document, below 500 KB whatever the run holds: curves are thinned out and long lists cut, which
// the page says.
// `stacks` may be null.
std::string run_report(const RunRecord& run, const StackTimes* stacks);

}  // namespace switchyard::report
