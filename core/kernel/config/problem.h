// One mistake in a configuration: where, what came, what was expected, what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard::config {

struct Problem {
    std::string file{};      // as the user named it, or "--set #2"
    int line = 0;            // 1-based; 0: no place within the file
    int column = 0;          // 1-based, in characters
    std::string key{};       // full key, may be empty
    std::string message{};   // what is wrong, and what came
    std::string expected{};  // may be empty
    std::string hint{};      // what to do, e.g. a suggestion for a typo; may be empty
    std::string source{};    // the line in question, for display; may be empty
};

// One paragraph for each:
//     run.toml:4:1: error: model.hiden_size: unknown key; did you mean model.hidden_size?
//         hiden_size = 384
//         ^
std::string render(const std::vector<Problem>& problems);
std::string render(const Problem& problem);

}  // namespace switchyard::config
