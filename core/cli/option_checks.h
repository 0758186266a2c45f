// Checks of what is written behind an option: what is wrong is told in one short line, "--samples: expected a whole number from 1 to 1000000,
// got 'x'".
#pragma once

#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>

namespace switchyard::cli {

CLI::Validator whole_number(std::int64_t low, std::int64_t high = std::numeric_limits<std::int64_t>::max());
// Finite.
CLI::Validator number(double low, double high = std::numeric_limits<double>::max());
CLI::Validator file_name();

}  // namespace switchyard::cli
