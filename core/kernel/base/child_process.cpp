#include "core/kernel/base/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

namespace switchyard::base {
namespace {

using Clock = std::chrono::steady_clock;

// The file of that name in the first folder of PATH that has one which `allows` access; "" if none has.
std::string in_path(const std::string& program, int allows) {
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
    while (!rest.empty()) {
        const auto folder = std::string(rest.substr(0, rest.find(':')));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        auto file = folder + "/" + program;
        if (!folder.empty() && ::access(file.c_str(), allows) == 0) return file;
    }
    return "";
}

bool is_path(const std::string& program) { return program.find('/') != std::string::npos; }

// In the new process, between fork and exec: nothing that another thread may hold a lock of.
[[noreturn]] void become(char* const* words, char* const* environment, const char* folder,
                         const std::array<int, 3>& streams, int report, pid_t starter,
                         const Program& program) {
    if (program.leads_group) ::setpgid(0, 0);
    if (program.dies_with_us) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != starter) ::_exit(127);  // it ended before that
    }
    tell(program.tells, ::getpid());
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int stream = 0; stream < 3; ++stream) ::dup2(streams[static_cast<std::size_t>(stream)], stream);
    // Whoever started this process may have left descriptors open that are nobody's business here.
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (program.keeps >= 0) ::fcntl(program.keeps, F_SETFD, 0);
    if (*folder == '\0' || ::chdir(folder) == 0) ::execvpe(words[0], words, environment);
    const int error = errno;
    [[maybe_unused]] const auto sent = ::write(report, &error, sizeof error);
    tell(program.tells, -static_cast<long>(::getpid()));
    ::_exit(127);
}

// This process's variables, but for those that `given` sets; a null pointer at the end.
std::vector<char*> environment_with(const std::vector<std::string>& given) {
    std::vector<char*> all;
    for (const auto& variable : given) all.push_back(const_cast<char*>(variable.c_str()));
    for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view name(*variable, std::strcspn(*variable, "="));
        const bool replaced = std::ranges::any_of(given, [&](const std::string& one) {
            return std::string_view(one).substr(0, one.find('=')) == name;
        });
        if (!replaced) all.push_back(*variable);
    }
    all.push_back(nullptr);
    return all;
}

std::string signal_text(int signal) {
    const char* const what = ::strsignal(signal);
    return "signal " + std::to_string(signal) + (what == nullptr ? "" : std::string(" (") + what + ")");
}

}  // namespace

Pipe::Pipe(Of of, int least) {
    const int made = of == Of::bytes ? ::pipe2(ends.data(), O_CLOEXEC)
                                     : ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data());
    if (made != 0) ends = {-1, -1};
    for (std::size_t end = 0; made == 0 && least > 0 && end < ends.size(); ++end) {
        const int moved = ::fcntl(ends[end], F_DUPFD_CLOEXEC, least);
        ::close(ends[end]);
        ends[end] = moved;
    }
}

Pipe::~Pipe() {
    for (std::size_t end = 0; end < ends.size(); ++end) close(end);
}

void Pipe::close(std::size_t end) {
    if (ends[end] >= 0) ::close(take(end));
}

void tell(int pipe, long number) {
    while (pipe >= 0 && ::write(pipe, &number, sizeof number) < 0 && errno == EINTR) {
    }
}

int Pipe::take(std::size_t end) { return std::exchange(ends[end], -1); }

std::string program_problem(const std::string& program, const std::string& folder) {
    if (!is_path(program)) {
        return in_path(program, X_OK).empty() ? "there is no program " + program + " in PATH" : "";
    }
    const auto path = std::filesystem::path(folder) / program;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return path.string() + " is a folder, not a program";
    if (::access(path.c_str(), X_OK) == 0) return "";
    return path.string() + (errno == EACCES ? " cannot be executed" : ": no such program");
}

pid_t start_program(const Program& program, const std::array<int, 3>& streams, std::string& error) {
    Pipe report;
    std::vector<char*> words;
    for (const auto& word : program.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    auto environment = environment_with(program.environment);
    const pid_t starter = ::getpid();
    const bool ready = report.ends[0] >= 0 && std::ranges::min(streams) >= 0;
    const pid_t child = ready ? ::fork() : -1;
    if (child == 0)
        become(words.data(), environment.data(), program.folder.c_str(), streams, report.ends[1], starter,
               program);
    if (child < 0) {
        error = std::string("no process could be made: ") + std::strerror(errno);
        return -1;
    }
    if (program.leads_group)
        ::setpgid(child, child);  // in both processes, so that neither has to wait for the other
    ::close(report.take(1));
    int failed = 0;
    ssize_t got = 0;
    while ((got = ::read(report.ends[0], &failed, sizeof failed)) < 0 && errno == EINTR) {
    }
    if (got != static_cast<ssize_t>(sizeof failed)) return child;
    reap(child);
    // execvp says that permission is denied also where a folder of PATH is closed to this user and no other
    // has the program.
    const auto& name = program.words.front();
    if (failed == EACCES && !is_path(name) && in_path(name, F_OK).empty()) failed = ENOENT;
    error = "cannot run " + name + ": " + std::strerror(failed);
    return -1;
}

std::optional<Ending> ending_within(pid_t process, double milliseconds) {
    const auto start = Clock::now();
    siginfo_t info{};
    while (true) {
        ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid != 0) break;
        const std::chrono::duration<double, std::milli> passed = Clock::now() - start;
        if (passed.count() >= milliseconds) return std::nullopt;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (info.si_code != CLD_EXITED) return Ending{false, "was killed by " + signal_text(info.si_status)};
    return Ending{info.si_status == 0, "ended with exit code " + std::to_string(info.si_status)};
}

void reap(pid_t process) {
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace switchyard::base
