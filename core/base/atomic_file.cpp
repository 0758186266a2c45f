#include <switchyard/base/atomic_file.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace switchyard::base {
namespace {

constexpr std::string_view aside_prefix = ".writing-", aside_suffix = "-XXXXXX";

// mkstemp makes files that only the owner can read; the result should look like any other new file.
mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

// A rename is durable only once the folder is.
void sync_folder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

std::string folder_of(const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

std::string aside_pattern(const std::string& target) {
    const std::filesystem::path path(target);
    const auto name = std::string(aside_prefix) + path.filename().string() + std::string(aside_suffix);
    return (path.parent_path() / name).string();
}

bool is_aside(const std::filesystem::directory_entry& entry) {
    std::error_code ignored;
    const auto name = entry.path().filename().string();
    return name.starts_with(aside_prefix) && name.size() > aside_prefix.size() + aside_suffix.size() &&
           name[name.size() - aside_suffix.size()] == aside_suffix.front() &&
           entry.symlink_status(ignored).type() == std::filesystem::file_type::regular;
}

}  // namespace

AtomicFile::AtomicFile(std::string target) : target_(std::move(target)) {}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!aside_.empty()) ::unlink(aside_.c_str());
}

FileError AtomicFile::failed(const char* doing) const {
    return std::string("cannot ") + doing + " " + target_ + ": " + std::strerror(errno);
}

FileError AtomicFile::open() {
    std::error_code ignored;
    if (std::filesystem::is_directory(target_, ignored))
        return "cannot write " + target_ + ": it is a directory";
    std::string pattern = aside_pattern(target_);
    descriptor_ = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (descriptor_ < 0) return failed("write");
    aside_ = std::move(pattern);
    ::fchmod(descriptor_, default_mode());
    return std::nullopt;
}

FileError AtomicFile::write(const void* data, std::size_t bytes) {
    const auto* next = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written =
            ::write(descriptor_, next, std::min<std::size_t>(bytes, std::size_t{1} << 30));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return failed("write");
        next += written;
        bytes -= static_cast<std::size_t>(written);
    }
    return std::nullopt;
}

FileError AtomicFile::commit() {
    if (::fsync(descriptor_) != 0) return failed("write");
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) return failed("write");
    if (std::rename(aside_.c_str(), target_.c_str()) != 0) return failed("replace");
    aside_.clear();
    sync_folder(folder_of(target_));
    return std::nullopt;
}

FileError write_file_atomically(const std::string& target, std::string_view content) {
    AtomicFile file(target);
    if (auto error = file.open()) return error;
    if (auto error = file.write(content.data(), content.size())) return error;
    return file.commit();
}

void remove_unfinished(const std::string& folder) {
    std::error_code ignored;
    std::vector<std::filesystem::path> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (is_aside(entry)) left.push_back(entry.path());
    }
    for (const auto& path : left) std::filesystem::remove(path, ignored);
}

}  // namespace switchyard::base
