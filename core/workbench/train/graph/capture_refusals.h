// Why the steps of a job cannot be captured into graphs, where the configuration alone does not tell
// (config/derive.cpp has those).
#pragma once

#include <string>
#include <vector>

#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/model/bound_plan.h"

namespace switchyard::train {

// A line for each reason, with the component and what to do; empty: nothing speaks against it.
std::vector<std::string> capture_refusals(const model::BoundPlan& plan,
                                          const runtime::OptimizerOp& optimizer);

}  // namespace switchyard::train
