#include "core/workbench/compare/arms/arm_guard.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "core/kernel/base/child_process.h"

namespace switchyard::compare {
namespace {

// Nothing of the coordinator's is kept open: whoever waits for the end of its output must not wait for this
// process.
void let_go_of_everything(int keep) {
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; ++standard) ::dup2(nothing, standard);
    const long most = std::clamp<long>(::sysconf(_SC_OPEN_MAX), 64, 4096);
    for (int descriptor = 3; descriptor < most; ++descriptor) {
        if (descriptor != keep) ::close(descriptor);
    }
}

[[noreturn]] void guard(int pipe, const std::string& folder) {
    ::setsid();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP})
        std::signal(signal, SIG_IGN);
    let_go_of_everything(pipe);
    std::vector<long> groups;
    for (long message = 0;;) {
        const ssize_t got = ::read(pipe, &message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got != static_cast<ssize_t>(sizeof message)) break;
        if (message > 0)
            groups.push_back(message);
        else
            std::erase(groups, -message);
    }
    for (const long group : groups) ::kill(static_cast<pid_t>(-group), SIGKILL);
    // A process that was killed still ends what it is writing. Where nobody waits for dead ones they stay,
    // which is no reason to stay here.
    constexpr int attempts = 100;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const bool all_ended = std::ranges::none_of(
            groups, [](long group) { return ::kill(static_cast<pid_t>(-group), 0) == 0; });
        std::error_code error;
        if (!folder.empty()) std::filesystem::remove_all(folder, error);
        if (all_ended && !error) break;
    }
    ::_exit(0);
}

}  // namespace

ArmGuard::ArmGuard(std::string folder) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;  // without it the kernel's PR_SET_PDEATHSIG remains
    child_ = ::fork();
    if (child_ == 0) {
        ::close(ends[1]);
        guard(ends[0], folder);
    }
    ::close(ends[0]);
    pipe_ = ends[1];
}

ArmGuard::~ArmGuard() {
    if (pipe_ >= 0) ::close(pipe_);
    if (child_ > 0) {
        while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

void ArmGuard::forget(pid_t group) { base::tell(pipe_, -static_cast<long>(group)); }

}  // namespace switchyard::compare
