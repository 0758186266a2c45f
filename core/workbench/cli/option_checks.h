// Checks of what is written behind an option: what is wrong is told in one short line, "--samples: expected a
// whole number from 1 to 1000000, got 'x'".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace switchyard::cli {

CLI::Validator whole_number(std::int64_t low, std::int64_t high = std::numeric_limits<std::int64_t>::max());
// Finite.
CLI::Validator number(double low, double high = std::numeric_limits<double>::max());
// An option that takes a number: `unit` stands for it in the help, `check` is one of the above.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& flag, T& value, const std::string& help,
                        const char* unit, const CLI::Validator& check) {
    return command.add_option(flag, value, help)->type_name(unit)->check(check);
}
// An output: that it can be written is looked at before the work that makes it.
CLI::Validator output_file();

// What no option checks by itself, told in one short line; "" if nothing is wrong. `may_be_empty`: names of
// options and arguments whose empty text means something.
std::string empty_value(const CLI::App& app, const std::vector<std::string>& may_be_empty);
// A value that is missing, too many of them, or one for an option that takes none; "" for other errors.
std::string wrong_count(const CLI::ParseError& error, const CLI::App& app,
                        const std::vector<std::string>& arguments);

}  // namespace switchyard::cli
