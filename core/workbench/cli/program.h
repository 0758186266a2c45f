// Command line -> command -> exit code, the same for both programs.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

// Runs a command that has no setup here: gets the arguments (without the program's name) and does not come
// back, or returns an exit code.
using HandOver = std::function<int(const std::vector<std::string>& arguments)>;

// `arguments`: without the program's name. Never throws; errors are on stderr.
int run_program(const std::vector<Command>& commands, const std::vector<std::string>& arguments,
                const HandOver& hand_over);

}  // namespace switchyard::cli
