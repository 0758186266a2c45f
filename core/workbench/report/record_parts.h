// Parts that the JSON of runs and of comparisons have in common.
#pragma once

#include <vector>

#include "core/workbench/report/record_json.h"
#include "core/workbench/report/run_record.h"

namespace switchyard::report {

// "host": {...}
std::vector<Fact> host_facts(const Json& host);

}  // namespace switchyard::report
