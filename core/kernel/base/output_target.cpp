#include "core/kernel/base/output_target.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace switchyard::base {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as Linux follows

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

// N for /dev/fd/N and its other names, unless that is a link to another place; -1 for other files. To open it
// by name would be to open the file behind it again, at its beginning.
int own_descriptor(const fs::path& path) {
    const auto name = path.filename().string();
    const bool number = !name.empty() && name.size() < 8 &&
                        std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number) return -1;
    std::error_code error;
    const auto folder = fs::canonical(folder_of(path), error);
    if (error || folder != "/proc/" + std::to_string(::getpid()) + "/fd") return -1;
    return std::stoi(name);
}

OutputTarget failed() {
    OutputTarget target;
    target.error = std::strerror(errno);
    return target;
}

OutputTarget written_through(int descriptor) {
    OutputTarget target;
    target.through = descriptor;
    return descriptor >= 0 ? target : failed();
}

// EINTR: a signal came while it waited for the other end of a FIFO, and its handler lets work go on.
int open_for_writing(const std::string& path) {
    int descriptor = -1;
    do descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

}  // namespace

OutputTarget find_output(const std::string& name) {
    fs::path at = name;
    for (int links = 0; links <= most_links; ++links) {
        if (const int own = own_descriptor(at); own >= 0)
            return written_through(::fcntl(own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        OutputTarget target;
        target.path = at.string();
        struct stat there {};
        if (::stat(at.c_str(), &there) == 0) {
            if (S_ISDIR(there.st_mode)) return target.error = "it is a directory", target;
            if (!S_ISREG(there.st_mode)) return written_through(open_for_writing(at.string()));
            target.mode = there.st_mode & 07777;
        } else if (errno != ENOENT) {
            return failed();
        }
        std::error_code error;
        const auto link = fs::read_symlink(at, error);
        if (error) return target;
        at = link.is_absolute() ? link : folder_of(at) / link;
    }
    errno = ELOOP;
    return failed();
}

std::string why_not_writable(const std::string& name) {
    fs::path at = name;
    for (int links = 0; links <= most_links; ++links) {
        if (own_descriptor(at) >= 0) return "";  // it is open already, wherever it leads
        struct stat there {};
        const bool is_there = ::stat(at.c_str(), &there) == 0;
        if (is_there && S_ISDIR(there.st_mode)) return "it is a directory";
        if (is_there && !S_ISREG(there.st_mode)) return "";
        std::error_code error;
        if (!fs::is_symlink(at, error)) break;
        const auto to = fs::read_symlink(at, error);
        at = to.is_absolute() ? to : folder_of(at) / to;
    }
    // Files are replaced as a whole, so it is the folder that has to be writable.
    const auto folder = folder_of(at);
    struct stat there {};
    if (::stat(folder.c_str(), &there) != 0) return std::strerror(errno);
    if (!S_ISDIR(there.st_mode)) return std::strerror(ENOTDIR);
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

}  // namespace switchyard::base
