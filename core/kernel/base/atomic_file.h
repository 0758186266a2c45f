// Files that are either whole or not there: written aside in the same folder, synced, renamed over the
// target, the folder synced. Whoever reads the target meanwhile, or after a crash or a full disk, sees the
// previous content. A kill may leave the file aside, `.writing-NAME-XXXXXX`; who ends a process by a signal
// that it handles calls remove_asides().
//
// That is for regular files and new names. What else a name may stand for is written through
// (output_target.h).
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
    std::string replaced_;  // where links lead from there
    std::string aside_;     // empty: written through
    int descriptor_ = -1;
};

// Writes all of it, whatever signals come and however little the other end takes at once; false, with errno,
// if it cannot.
bool write_all(int descriptor, std::string_view bytes);

// A new name, or a rename, is durable only once its folder is.
FileError sync_folder(const std::string& folder);

FileError write_file_atomically(const std::string& target, std::string_view content);

// Removes the files aside that killed processes left in a folder, not below it; those of a process that is
// still writing there too.
void remove_unfinished(const std::string& folder);

// Removes what AtomicFiles of this process have aside; for a signal handler that ends the process then.
void remove_asides() noexcept;

}  // namespace switchyard::base
