// Real data sets that are not part of this repository: a folder that SWITCHYARD_SHARED_DATA names, or
// shared/data beside the source tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <switchyard_test.h>

namespace switchyard::test {

/// Empty where the file is not there: then skip with no_shared_data().
inline std::string shared_data(const std::string& name) {
    const char* named = std::getenv("SWITCHYARD_SHARED_DATA");
    const auto folder =
        named != nullptr ? std::filesystem::path(named) : source_dir().parent_path() / "shared/data";
    return std::filesystem::exists(folder / name) ? (folder / name).string() : "";
}

inline std::string no_shared_data(const std::string& name) {
    return "no shared data: " + name + " is not there (SWITCHYARD_SHARED_DATA)";
}

}  // namespace switchyard::test
