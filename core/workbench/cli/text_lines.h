// Texts that stand line by line in the standard input.
#pragma once

#include <string>
#include <vector>

namespace switchyard::cli {

// All of them, empty ones too. Throws Failure, with the number of a line that is longer than
// limits::line_bytes.
std::vector<std::string> text_lines();

}  // namespace switchyard::cli
