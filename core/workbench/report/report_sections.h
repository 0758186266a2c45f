// The parts of a report, each HTML of its own; "" where the run has nothing for it.
#pragma once

#include <string>

#include "core/workbench/report/run_record.h"

namespace switchyard::report {

std::string verdict_section(const RunRecord& run);
std::string curves_section(const RunRecord& run);
std::string confusion_section(const RunRecord& run);
std::string worst_section(const RunRecord& run);
std::string communication_section(const RunRecord& run);
std::string shadow_section(const RunRecord& run);
std::string stacks_section(const StackTimes& stacks);
std::string plan_section(const RunRecord& run);
std::string memory_section(const RunRecord& run);
std::string data_section(const RunRecord& run);
std::string host_section(const RunRecord& run, const StackTimes* stacks);
std::string config_section(const RunRecord& run);

// "film-reviews: bert, classification".
std::string title_of(const RunRecord& run);

}  // namespace switchyard::report
