// Command line -> command -> exit code, the same for both programs.
#pragma once

#include <exception>
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

// What run_program() was given; empty before.
const std::vector<std::string>& program_arguments();

// What is told of an exception that ends a command, with "error: " in it, and the exit code.
struct CommandError {
    std::string text;
    int code = Exit::run_failed;
};
CommandError command_error(const std::exception_ptr& thrown);

}  // namespace switchyard::cli
