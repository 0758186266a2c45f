// Files that are either whole or not there: written aside in the same folder, synced, renamed over the target, the folder synced. Whoever reads
// the target meanwhile, or after a crash or a full disk, sees the previous content. A kill may leave the file aside, `.writing-NAME-XXXXXX`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::base {

// An error in words with the path and the system's reason; nullopt when all went well.
using FileError = std::optional<std::string>;

class AtomicFile {
public:
    explicit AtomicFile(std::string target);
    ~AtomicFile();  // removes what was not committed
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    FileError open();
    FileError write(const void* data, std::size_t bytes);
    // After this the target is the new file; called once.
    FileError commit();

private:
    FileError failed(const char* doing) const;

    std::string target_;
    std::string aside_;
    int descriptor_ = -1;
};

FileError write_file_atomically(const std::string& target, std::string_view content);

// Removes the files aside that killed processes left in a folder, not below it; those of a process that is still writing there too.
void remove_unfinished(const std::string& folder);

}  // namespace switchyard::base
