// Texts that stand line by line in the standard input.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace switchyard::cli {

// All of them, empty ones too. Throws Failure, with the number of a line that is longer than
// limits::line_bytes.
std::vector<std::string> text_lines();

// How one that was given by itself is called, counted from 0: "text 1".
std::string text_place(std::size_t text);

}  // namespace switchyard::cli
