// The source files that rules are about, and what of them is code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace switchyard::architecture {

/// All in these folders of the root, sorted.
std::vector<std::filesystem::path> sources_below(const std::filesystem::path& root,
                                                 const std::vector<std::string>& folders);

/// "core/kernel/base/log.h"
std::string relative_to(const std::filesystem::path& root, const std::filesystem::path& path);

/// The lines of a file without comments and without raw strings, which hold text for people: examples, help.
std::vector<std::string> code_lines(const std::filesystem::path& file);

}  // namespace switchyard::architecture
