// In what two plans of the same model differ, slot by slot, and how one is given a slot of the other.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/resolver/plan.h"
#include "core/workbench/cli/job/planned_job.h"

namespace switchyard::cli {

// One kind of component that the plans serve differently.
struct SlotDifference {
    std::string slot;                    // "attention"
    std::string first, second;           // who serves it: "flash/flash", "chunked/chunked chunk_size=7"
    std::vector<std::string> overrides;  // of the first configuration, which give it the second's
};

// In the order of the kinds; empty: the same components with the same options serve the same.
std::vector<SlotDifference> plan_differences(const PlannedJob& first, const PlannedJob& second);

}  // namespace switchyard::cli
