// Arms of a comparison as processes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/workbench/compare/arms/arm_guard.h"
#include "core/workbench/compare/experiment/arm_requests.h"

namespace switchyard::cli {

// One arm; nullptr where it cannot be, `error` says why.
std::unique_ptr<compare::ArmClient> start_arm(const compare::ArmSpec& arm, compare::ArmGuard& guard,
                                              const std::function<bool()>& stop, std::string& error);

// `guard` outlives them. `stop`: looked at while they are waited for.
std::vector<compare::StartedArm> start_arms(const std::vector<compare::ArmSpec>& arms,
                                            compare::ArmGuard& guard, const std::function<bool()>& stop);

}  // namespace switchyard::cli
