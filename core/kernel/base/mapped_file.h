// A regular file as memory that is only read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace switchyard::base {

class MappedFile {
public:
    struct Opened {
        std::shared_ptr<const MappedFile> file;
        std::string error;  // "cannot open: ..."; set if file is nullptr
    };
    // Refuses what is no regular file; a FIFO is not waited for.
    static Opened open(const std::string& path);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    // Valid as long as this object. A file that somebody shortens meanwhile ends the process (SIGBUS).
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    MappedFile() = default;

    std::span<const std::byte> bytes_;
};

}  // namespace switchyard::base
