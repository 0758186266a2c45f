#include "core/kernel/loader/probe/mapped_files.h"

#include <link.h>
#include <sys/stat.h>

#include <filesystem>
#include <string_view>

namespace switchyard::loader {

namespace fs = std::filesystem;

std::string file_identity(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    const std::int64_t nanoseconds =
        std::int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec;
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
           std::to_string(status.st_size) + ":" + std::to_string(nanoseconds);
}

FileIdentities mapped_files() {
    FileIdentities files;
    const auto note = [](dl_phdr_info* info, std::size_t, void* into) {
        // Without a slash are the program itself and what the kernel brings along.
        if (std::string_view(info->dlpi_name).find('/') != std::string_view::npos) {
            std::error_code ignored;  // a working folder that is gone
            const std::string path = fs::absolute(info->dlpi_name, ignored).string();
            (*static_cast<FileIdentities*>(into))[path] = file_identity(path);
        }
        return 0;
    };
    ::dl_iterate_phdr(note, &files);
    return files;
}

std::string path_of(const std::string& name, const FileIdentities& files) {
    for (const auto& [path, identity] : files) {
        if (fs::path(path).filename() == name) return path;
    }
    return {};
}

}  // namespace switchyard::loader
