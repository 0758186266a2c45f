// Patterns of names, of parameters and of linear layers: "encoder.0.*".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard::config {

// As the names of files match in a shell, but for dots and slashes, which are letters like others: * stands
// for any characters, none too (fnmatch of POSIX).
bool name_matches(const std::string& pattern, const std::string& name);
bool any_matches(const std::vector<std::string>& patterns, const std::string& name);

// What somebody meant by a pattern that matches none of `names`: a sentence's end, such as "did you mean
// \"encoder.0.*\"?".
std::string near_pattern(const std::string& pattern, const std::vector<std::string>& names);

}  // namespace switchyard::config
