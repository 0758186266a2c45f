#include "name_pattern.h"

#include <algorithm>

namespace switchyard {
namespace {

// The last star is gone back to as long as the rest does not fit.
bool matches(std::string_view pattern, std::string_view name) {
    std::size_t p = 0, n = 0, star = std::string_view::npos, behind_star = 0;
    while (n < name.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p, ++n;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            behind_star = n;
        } else if (p == pattern.size() && name[n] == '.') {
            return true;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++behind_star;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches(pattern, name); });
}

}  // namespace switchyard
