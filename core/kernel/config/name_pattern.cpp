#include "core/kernel/config/name_pattern.h"

#include <fnmatch.h>

#include <algorithm>

#include "core/kernel/config/suggest.h"

namespace switchyard::config {
namespace {

// "a.b.c": "a.*", "*.b.c", "a.b.*", "*.c" and "a.b.c".
std::vector<std::string> patterns_of(const std::vector<std::string>& names) {
    std::vector<std::string> all;
    for (const auto& name : names) {
        for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
            all.push_back(name.substr(0, dot) + ".*");
            all.push_back("*" + name.substr(dot));
        }
        all.push_back(name);
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace

bool name_matches(const std::string& pattern, const std::string& name) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
    return std::ranges::any_of(patterns, [&](const auto& pattern) { return name_matches(pattern, name); });
}

std::string near_pattern(const std::string& pattern, const std::vector<std::string>& names) {
    const auto near = suggest(pattern, patterns_of(names));
    if (!near.empty()) return did_you_mean("\"" + near + "\"");
    return names.empty() ? "expected none" : "expected one such as \"" + names.front() + "\"";
}

}  // namespace switchyard::config
