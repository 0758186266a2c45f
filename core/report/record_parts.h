// Parts that the JSON of runs and of comparisons have in common.
#pragma once

#include <vector>

#include <switchyard/report/record_json.h>
#include <switchyard/report/run_record.h>

namespace switchyard::report {

// "host": {...}
std::vector<Fact> host_facts(const Json& host);

}  // namespace switchyard::report
