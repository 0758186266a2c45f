#include "core/workbench/train/run_lock.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/printable.h"

namespace switchyard::train {
namespace {

constexpr int tries = 100;  // a folder that is removed and made again all the time
constexpr int tries_beside_readers = 10;
constexpr std::chrono::milliseconds between_tries{5};

std::string this_machine() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string read_start(int descriptor) {
    std::array<char, 2000> text{};
    const auto count = ::pread(descriptor, text.data(), text.size(), 0);
    return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "";
}

// "process 1234 (switchyard train a.toml)"; the holder may not have written its name yet.
std::string holder(int descriptor) {
    std::istringstream lines(read_start(descriptor));
    std::string process, machine, command;
    if (!std::getline(lines, process) || !std::getline(lines, machine) || !std::getline(lines, command))
        return "another process";
    const auto where = machine == this_machine() ? "" : " on " + base::quoted(machine);
    return "process " + base::quoted(process) + where + " (" + base::quoted(command) + ")";
}

// Whether the name still leads to the file that was locked.
bool is_there(int descriptor, const std::string& name) {
    struct stat locked {
    }, named{};
    return ::fstat(descriptor, &locked) == 0 && ::stat(name.c_str(), &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

int lock(int descriptor, int how) {
    while (::flock(descriptor, how | LOCK_NB) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

// Who asks whether somebody has the lock may hold it for that moment, which is over before the last try.
int lock_for_writing(int descriptor) {
    int error = lock(descriptor, LOCK_EX);
    for (int i = 0; i < tries_beside_readers && error == EWOULDBLOCK; ++i) {
        std::this_thread::sleep_for(between_tries);
        error = lock(descriptor, LOCK_EX);
    }
    return error;
}

}  // namespace

RunLock::~RunLock() {
    if (descriptor_ < 0) return;
    [[maybe_unused]] const int emptied = ::ftruncate(descriptor_, 0);
    ::close(descriptor_);
}

std::string RunLock::take(const std::string& folder, const std::string& command) {
    if (descriptor_ >= 0) return "";
    const auto name = folder + "/.lock";
    for (int attempt = 0; descriptor_ < 0; ++attempt) {
        const int opened = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (opened < 0) return "cannot write " + name + ": " + std::strerror(errno);
        const int error = lock_for_writing(opened);
        if (error == EWOULDBLOCK) {
            const auto text = folder + ": error: in use by " + holder(opened) +
                              ": wait until it ends, or give another folder with --run";
            ::close(opened);
            return text;
        }
        if (error != 0) {
            warning_ = "warning: " + name + ": the file system gives no lock here (" + std::strerror(error) +
                       "): make sure that no other process writes this folder\n";
        } else if (!is_there(opened, name) && attempt < tries) {
            ::close(opened);
            continue;
        }
        descriptor_ = opened;
    }
    const auto text = std::to_string(::getpid()) + "\n" + this_machine() + "\n" + command + "\n";
    // On a full disk others learn less.
    if (::ftruncate(descriptor_, 0) == 0) (void)base::write_all(descriptor_, text);
    return "";
}

bool RunLock::is_held(const std::string& folder) {
    const auto name = folder + "/.lock";
    const int opened = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0) return false;
    const bool names_holder = !read_start(opened).empty();  // whoever gives it back empties the file
    const bool held = names_holder && lock(opened, LOCK_SH) == EWOULDBLOCK;
    ::close(opened);
    return held;
}

}  // namespace switchyard::train
