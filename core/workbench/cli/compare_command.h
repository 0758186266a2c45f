// switchyard compare, and the command that it starts its own arms with, which is in no list and no help. With
// LibTorch.
#pragma once

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

Action setup_compare(CLI::App& command);
Command arm_command();

}  // namespace switchyard::cli
