// A folder of one command's own among temporary files, gone with it.
#pragma once

#include <string>

namespace switchyard::cli {

class TemporaryFolder {
public:
    TemporaryFolder();  // throws Failure where it cannot be made
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace switchyard::cli
