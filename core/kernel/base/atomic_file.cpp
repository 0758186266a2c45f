#include "core/kernel/base/atomic_file.h"

#include "core/kernel/base/output_target.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace switchyard::base {
namespace {

constexpr std::string_view aside_prefix = ".writing-", aside_suffix = "-XXXXXX";

// Paths of files aside, for a signal handler: more at once than there is room for are not among them.
std::array<std::atomic<const char*>, 32> asides{};
static_assert(std::atomic<const char*>::is_always_lock_free, "a signal handler must not take a lock");

// Puts `now` where `before` is.
void replace_aside(const char* before, const char* now) {
    for (auto& path : asides) {
        const char* expected = before;
        if (path.compare_exchange_strong(expected, now)) return;
    }
}

// mkstemp makes files that only the owner can read; the result should look like any other new file.
mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

std::string folder_of(const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

// A name may have 255 bytes; of a long one the aside's has the beginning.
std::string aside_pattern(const std::string& target) {
    constexpr std::size_t most = 200;
    const std::filesystem::path path(target);
    const auto kept = path.filename().string().substr(0, most);
    const auto name = std::string(aside_prefix) + kept + std::string(aside_suffix);
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
    if (aside_.empty()) return;
    ::unlink(aside_.c_str());
    replace_aside(aside_.c_str(), nullptr);
}

FileError AtomicFile::failed(const char* doing) const {
    return std::string("cannot ") + doing + " " + target_ + ": " + std::strerror(errno);
}

FileError AtomicFile::open() {
    auto found = find_output(target_);
    if (!found.error.empty()) return "cannot write " + target_ + ": " + found.error;
    descriptor_ = found.through;
    if (descriptor_ >= 0) return std::nullopt;
    replaced_ = std::move(found.path);
    aside_ = aside_pattern(replaced_);
    replace_aside(nullptr, aside_.c_str());  // before there is a file, which then never is without its entry
    descriptor_ = ::mkostemp(aside_.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
        auto error = failed("write");
        replace_aside(aside_.c_str(), nullptr);
        aside_.clear();
        return error;
    }
    ::fchmod(descriptor_, found.mode.value_or(default_mode()));
    return std::nullopt;
}

FileError AtomicFile::write(const void* data, std::size_t bytes) {
    return write_all(descriptor_, {static_cast<const char*>(data), bytes}) ? std::nullopt : failed("write");
}

FileError AtomicFile::commit() {
    const bool replaces = !aside_.empty();
    if (replaces && ::fsync(descriptor_) != 0) return failed("write");
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) return failed("write");
    if (!replaces) return std::nullopt;
    if (std::rename(aside_.c_str(), replaced_.c_str()) != 0) return failed("replace");
    replace_aside(aside_.c_str(), nullptr);
    aside_.clear();
    return sync_folder(folder_of(replaced_));
}

bool write_all(int descriptor, std::string_view bytes) {
    constexpr std::size_t most_at_once = std::size_t{1} << 30;
    while (!bytes.empty()) {
        const auto written = ::write(descriptor, bytes.data(), std::min(bytes.size(), most_at_once));
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {  // somebody made the other end's pipe or terminal non-blocking
            pollfd ready{descriptor, POLLOUT, 0};
            ::poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

FileError sync_folder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // A folder may be written but not read, and some file systems sync no folders.
    if (descriptor < 0 && errno == EACCES) return std::nullopt;
    const bool good = descriptor >= 0 && (::fsync(descriptor) == 0 || errno == EINVAL);
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    return good ? FileError{} : "cannot sync " + folder + ": " + std::strerror(reason);
}

FileError write_file_atomically(const std::string& target, std::string_view content) {
    AtomicFile file(target);
    if (auto error = file.open()) return error;
    if (auto error = file.write(content.data(), content.size())) return error;
    return file.commit();
}

void remove_asides() noexcept {
    for (const auto& path : asides) {
        if (const char* const aside = path) ::unlink(aside);
    }
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
