#include "core/kernel/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace switchyard::base {

MappedFile::Opened MappedFile::open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return {nullptr, std::string("cannot open: ") + std::strerror(errno)};
    std::shared_ptr<MappedFile> file(new MappedFile);
    std::string error;
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        error = "is not a regular file";
    } else if (status.st_size > 0) {
        const auto size = static_cast<std::size_t>(status.st_size);
        void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapping == MAP_FAILED)
            error = std::string("cannot map: ") + std::strerror(errno);
        else
            file->bytes_ = {static_cast<const std::byte*>(mapping), size};
    }
    ::close(descriptor);
    if (!error.empty()) return {nullptr, std::move(error)};
    return {std::move(file), ""};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace switchyard::base
