#include "core/kernel/loader/probe/probe_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/kernel/loader/probe/probe_environment.h"

namespace switchyard::loader {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_lines = 1 << 20;
constexpr std::size_t most_output = 1 << 10;
constexpr int report_fd = 3;

// Both ends above the descriptors that the child gets, so that none is in the way of another.
struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
        read_end = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
        write_end = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
        ::close(ends[0]);
        ::close(ends[1]);
        if (read_end >= 0) ::fcntl(read_end, F_SETFL, O_NONBLOCK);
    }
    ~Pipe() {
        close_end(read_end);
        close_end(write_end);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    static void close_end(int& end) {
        if (end >= 0) ::close(end);
        end = -1;
    }
    bool open() const { return read_end >= 0 && write_end >= 0; }
};

// Takes what is there; false once all writers have gone.
bool drain(int fd, std::string& into) {
    std::array<char, 4096> chunk;
    while (true) {
        const ssize_t got = ::read(fd, chunk.data(), chunk.size());
        if (got > 0)
            into.append(chunk.data(), static_cast<std::size_t>(got));
        else if (got < 0 && errno == EINTR)
            continue;
        else
            return got < 0 && errno == EAGAIN;
        if (into.size() > most_lines) return true;
    }
}

bool drain_last(int fd, std::string& into) {
    const bool open = drain(fd, into);
    if (into.size() > most_output) into.erase(0, into.size() - most_output);
    return open;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

int spawn(const ProbeRun& run, const Pipe& report, const Pipe& output, pid_t& child) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output.write_end, 1);
    posix_spawn_file_actions_adddup2(&files, output.write_end, 2);
    posix_spawn_file_actions_adddup2(&files, report.write_end, report_fd);
    posix_spawn_file_actions_addclosefrom_np(&files, report_fd + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    std::vector<std::string> words{run.program,        run.library,
                                   "--report-fd",      std::to_string(report_fd),
                                   "--memory",         std::to_string(run.limits.memory_bytes),
                                   "--processor-time", std::to_string(run.limits.processor_time.count())};
    std::vector<std::string> variables = probe_environment(environ);
    const int error = ::posix_spawn(&child, run.program.c_str(), &files, &attributes,
                                    pointers_to(words).data(), pointers_to(variables).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

// Whether it has ended, now or within `time`; it is not waited for yet, so that its number stays its own.
bool ends_within(pid_t child, std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    while (true) {
        siginfo_t ended{};
        ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid != 0 || Clock::now() >= end) return ended.si_pid != 0;
        ::poll(nullptr, 0, 1);
    }
}

// Until the process has ended or must be ended. What has its pipes open may be one that it started and that
// is being killed, so their end is not waited for.
void follow(pid_t child, const Pipe& report, const Pipe& output, ProbeTranscript& transcript) {
    constexpr auto slice = std::chrono::milliseconds(10);
    const auto end = Clock::now() + transcript.deadline;
    std::array<pollfd, 2> pipes{pollfd{report.read_end, POLLIN, 0}, pollfd{output.read_end, POLLIN, 0}};
    while (true) {
        ::poll(pipes.data(), pipes.size(), static_cast<int>(slice.count()));
        if (!drain(report.read_end, transcript.lines)) pipes[0].fd = -1;
        if (!drain_last(output.read_end, transcript.output)) pipes[1].fd = -1;
        transcript.too_long = transcript.lines.size() > most_lines;
        const bool ended = ends_within(child, std::chrono::milliseconds(0));
        transcript.timed_out = !ended && Clock::now() >= end;
        if (ended || transcript.timed_out || transcript.too_long) break;
    }
    ::kill(child, SIGTERM);  // the keeper then ends all that there is
    if (!ends_within(child, std::chrono::seconds(10))) ::kill(child, SIGKILL);
    while (::waitpid(child, &transcript.wait_status, 0) < 0 && errno == EINTR) {
    }
    drain(report.read_end, transcript.lines);
    drain_last(output.read_end, transcript.output);
}

ProbeReport could_not_start(const std::string& program, int error) {
    ProbeReport report;
    report.failure =
        ProbeFailure{ProbePhase::start,
                     {},
                     "the probe program " + program + " could not be started: " + std::strerror(error),
                     "install Switchyard again"};
    return report;
}

}  // namespace

std::chrono::milliseconds standard_probe_deadline() {
    constexpr std::chrono::milliseconds standard{20000};
    const char* variable = std::getenv("SWITCHYARD_PROBE_TIMEOUT_MS");
    if (variable == nullptr) return standard;
    std::int64_t value = 0;
    const std::string_view text = variable;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value > 0
               ? std::chrono::milliseconds(value)
               : standard;
}

ProbeReport run_probe(const ProbeRun& run) {
    const auto begin = Clock::now();
    Pipe report, output;
    if (!report.open() || !output.open()) return could_not_start(run.program, errno);
    pid_t child = 0;
    const int error = spawn(run, report, output, child);
    if (error != 0) return could_not_start(run.program, error);
    Pipe::close_end(report.write_end);
    Pipe::close_end(output.write_end);
    ProbeTranscript transcript;
    transcript.deadline = run.deadline;
    transcript.limits = run.limits;
    follow(child, report, output, transcript);
    ProbeReport result = read_transcript(transcript);
    result.milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
    return result;
}

}  // namespace switchyard::loader
