// Names of files with wildcards, as shells have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard::data {

// Has one of * ? [ in it.
bool is_pattern(std::string_view path);

// Files and folders whose names match, in the order of their names. "*", "?" and "[...]" stand for a part of
// one name that does not begin with a dot, "**" for folders of any depth, or none. A part that is there as it
// is written is no pattern.
std::vector<std::string> matches_of(const std::string& pattern);

}  // namespace switchyard::data
