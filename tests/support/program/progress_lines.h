// What a program printed without the lines that tell how far it is, which come after half a minute.
#pragma once

#include <regex>
#include <sstream>
#include <string>

namespace switchyard::test {

inline std::string without_progress(const std::string& text) {
    static const std::regex bar(R"(\[=*>? *\])");
    std::istringstream lines(text);
    std::string rest;
    for (std::string line; std::getline(lines, line);)
        if (!std::regex_search(line, bar)) rest += line + "\n";
    return rest;
}

}  // namespace switchyard::test
