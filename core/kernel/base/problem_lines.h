// Problems as text, a line each: the first limits::listed_problems of them and how many more there are.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/limits.h"

namespace switchyard::base {

inline std::string problem_lines(const std::vector<std::string>& problems) {
    constexpr std::size_t most = limits::listed_problems;
    const auto more = problems.size() - std::min(problems.size(), most);
    const auto text = joined(std::span(problems).first(problems.size() - more), "\n");
    if (more == 0) return text;
    // One more is told itself; it may be the line that says how many there are.
    return text + "\n" + (more == 1 ? problems.back() : "and " + std::to_string(more) + " more");
}

}  // namespace switchyard::base
