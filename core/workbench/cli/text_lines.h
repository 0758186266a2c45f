// Texts that a command is given line by line.
#pragma once

#include <string>
#include <vector>

namespace switchyard::cli {

// All lines of a file, empty ones too; "-": of the standard input. Throws Failure, with the number of a line
// that is longer than limits::line_bytes.
std::vector<std::string> text_lines(const std::string& path);

}  // namespace switchyard::cli
