// Layers by name: which ones a policy leaves alone. Since 1.0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

// Whether `pattern` (* any text, ? any character) is `name`, or what `name` stands below: "encoder.0" is
// "encoder.0.attention.q" too.
inline bool matches_name(std::string_view pattern, std::string_view name) {
    // The last star is gone back to as long as the rest does not fit.
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

inline bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches_name(pattern, name); });
}

}  // namespace switchyard
