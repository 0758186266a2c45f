// How wide a text is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

namespace switchyard::test {

// In bytes.
inline std::size_t longest_line(const std::string& text) {
    std::istringstream lines(text);
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    return longest;
}

}  // namespace switchyard::test
