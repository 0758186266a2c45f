// Batches for external arms whose steps have other samples than the base's, as rungs of a ladder may: written
// by an arm of this program that does nothing else.
#pragma once

#include <functional>
#include <string>

#include "core/workbench/cli/compare/compare_messages.h"
#include "core/workbench/compare/arms/arm_guard.h"

namespace switchyard::cli {

// Before the arm prepares, where it loads batches of its own. "", or why they could not be written.
std::string write_own_batches(const compare::Preparation& what, const CheckedArms& arms,
                              const ArmMessages& messages, compare::Operation operation, double timeout_ms,
                              compare::ArmGuard& guard, const std::function<bool()>& stop);

}  // namespace switchyard::cli
