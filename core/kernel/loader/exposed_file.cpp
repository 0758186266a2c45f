#include "core/kernel/loader/exposed_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace switchyard::loader {

namespace {

bool is_trusted(uid_t owner) {
    if (owner == 0 || owner == ::geteuid()) return true;
    // Who can exchange the program needs no plugin.
    struct stat program {};
    return ::stat("/proc/self/exe", &program) == 0 && program.st_uid == owner;
}

std::string why(const std::string& path, const char* what) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    const std::string begin = std::string(what) + path + " ";
    if ((status.st_mode & S_IWOTH) != 0)
        return begin + "may be written by every user, who then runs code as you; `chmod o-w` it";
    if (is_trusted(status.st_uid)) return {};
    return begin + "belongs to user " + std::to_string(status.st_uid) +
           ", who runs code as you by changing it; copy it to a place of your own";
}

}  // namespace

std::string exposed_because(const std::string& library) {
    std::error_code error;
    const auto found = std::filesystem::absolute(library, error);
    const auto real = std::filesystem::canonical(library, error);
    if (error) return {};
    auto text = why(found.parent_path().string(), "the folder ");
    if (text.empty()) text = why(real.parent_path().string(), "the folder ");
    return text.empty() ? why(real.string(), "the file ") : text;
}

}  // namespace switchyard::loader
