#include "core/kernel/loader/probe/kept_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/kernel/machine/address_sanitizer.h"

namespace switchyard::loader {

namespace {

bool sanitized() {
#if defined(__SANITIZE_THREAD__)
    return true;
#else
    return machine::address_sanitizer_runs();
#endif
}

void limit(int what, rlim_t soft, rlim_t hard) {
    const rlimit wanted{soft, hard};
    ::setrlimit(static_cast<__rlimit_resource>(what), &wanted);
}

void live_within(const ProcessLimits& limits) {
    ::setsid();
    if (!sanitized()) {
        ::prctl(PR_SET_DUMPABLE, 0);  // RLIMIT_CORE does not hold for dumps that a program collects
        limit(RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes);
    }
    const auto seconds = static_cast<rlim_t>(limits.processor_time.count());
    limit(RLIMIT_CPU, seconds, seconds + 5);  // SIGXCPU, then SIGKILL
}

// After a process's name, which may hold anything, stand its state and its parent.
pid_t parent_of(const std::filesystem::path& process) {
    std::ifstream file(process / "stat");
    std::string text;
    std::getline(file, text, '\0');
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 4 > text.size()) return -1;
    return std::atoi(text.c_str() + name_end + 4);
}

std::vector<pid_t> children() {
    std::vector<pid_t> list;
    std::error_code error;
    for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
         at.increment(error)) {
        const int process = std::atoi(at->path().filename().c_str());
        if (process > 0 && parent_of(at->path()) == ::getpid()) list.push_back(process);
    }
    return list;
}

class Keeper {
public:
    Keeper(pid_t child, int signals, int report) : child_(child), signals_(signals), report_(report) {}

    // Until the child has ended, or must.
    void wait() {
        while (true) {
            std::array<pollfd, 2> files{pollfd{signals_, POLLIN, 0}, pollfd{report_, 0, 0}};
            ::poll(files.data(), files.size(), -1);
            signalfd_siginfo signal{};
            if (files[0].revents != 0 && ::read(signals_, &signal, sizeof signal) == sizeof signal &&
                signal.ssi_signo != SIGCHLD)
                return;
            reap();
            if (ended_ || (files[1].revents & (POLLERR | POLLHUP)) != 0) return;
        }
    }

    // Those whose parents are killed here become children of this process in turn. They are killed before the
    // clock is looked at: this process may not have run for that long.
    void end_all() {
        constexpr auto longest = std::chrono::seconds(5);
        const auto end = std::chrono::steady_clock::now() + longest;
        while (reap()) {
            for (const pid_t process : children()) ::kill(process, SIGKILL);
            if (std::chrono::steady_clock::now() >= end) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    [[noreturn]] void end_likewise() const {
        if (WIFSIGNALED(status_)) {
            const int number = WTERMSIG(status_);
            ::signal(number, SIG_DFL);
            sigset_t none;
            ::sigemptyset(&none);
            ::sigprocmask(SIG_SETMASK, &none, nullptr);
            ::raise(number);
        }
        ::_exit(ended_ && WIFEXITED(status_) ? WEXITSTATUS(status_) : 1);
    }

private:
    // False: there are no children any more.
    bool reap() {
        while (true) {
            int status = 0;
            const pid_t process = ::waitpid(-1, &status, WNOHANG);
            if (process == 0 || (process < 0 && errno != EINTR)) return process == 0;
            if (process == child_) ended_ = true, status_ = status;
        }
    }

    pid_t child_;
    int signals_, report_, status_ = 0;
    bool ended_ = false;
};

}  // namespace

std::string continue_in_kept_process(const ProcessLimits& limits, int report) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // what runs as another user could not be killed
    limit(RLIMIT_CORE, 0, 0);
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t watched, before;
    ::sigemptyset(&watched);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&watched, signal);
    ::sigprocmask(SIG_BLOCK, &watched, &before);
    const int signals = ::signalfd(-1, &watched, SFD_CLOEXEC);
    const pid_t keeper = ::getpid();
    const pid_t child = signals < 0 ? -1 : ::fork();
    if (child < 0) return std::string("no process could be made: ") + std::strerror(errno);
    if (child > 0) {
        Keeper keeping(child, signals, report);
        keeping.wait();
        keeping.end_all();
        keeping.end_likewise();
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper) ::_exit(1);  // it ended before that was said
    ::close(signals);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    live_within(limits);
    return {};
}

}  // namespace switchyard::loader
