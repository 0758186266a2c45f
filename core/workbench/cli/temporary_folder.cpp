#include "core/workbench/cli/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

TemporaryFolder::TemporaryFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "switchyard-compare-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw Failure("cannot create a folder in " + std::filesystem::temp_directory_path().string(),
                      Exit::run_failed);
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace switchyard::cli
