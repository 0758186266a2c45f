// switchyard compare, switchyard bench inference, and the hidden command that runs one of their arms. With
// LibTorch.
#pragma once

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

Action setup_compare(CLI::App& command);
Action setup_bench_inference(CLI::App& command);
Command arm_command();

}  // namespace switchyard::cli
