// switchyard compare, and the hidden command that runs one of its arms. With LibTorch.
#pragma once

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

Action setup_compare(CLI::App& command);
Command arm_command();

}  // namespace switchyard::cli
