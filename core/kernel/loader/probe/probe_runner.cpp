#include "core/kernel/loader/probe/probe_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel/base/child_process.h"
#include "core/kernel/loader/probe/probe_environment.h"

namespace switchyard::loader {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_lines = 1 << 20;
constexpr std::size_t most_output = 1 << 10;
constexpr int report_fd = 3;
constexpr std::string_view ended = "ended\t";

// Ends above the descriptors that the program gets, so that none is in the way of another.
constexpr int least_end = 10;

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

// Whether it has ended, now or within `time`; it is not waited for yet, so that its number stays its own.
bool ends_within(pid_t child, std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    while (true) {
        siginfo_t change{};
        ::waitid(P_PID, static_cast<id_t>(child), &change, WEXITED | WNOHANG | WNOWAIT);
        if (change.si_pid != 0 || Clock::now() >= end) return change.si_pid != 0;
        ::poll(nullptr, 0, 1);
    }
}

// The status in the line that the program writes when a library has ended, if that was written.
std::optional<int> take_ending(std::string& lines) {
    if (lines.empty() || lines.back() != '\n') return std::nullopt;
    const auto before = lines.rfind('\n', lines.size() - 2);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    std::string_view line(lines.data() + begin, lines.size() - begin - 1);
    if (!line.starts_with(ended)) return std::nullopt;
    line.remove_prefix(ended.size());
    int status = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), status);
    if (error != std::errc{} || end != line.data() + line.size()) return std::nullopt;
    lines.resize(begin);
    return status;
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

// The program while it runs, and its pipes.
class ProbeProcess::Process {
public:
    ~Process() { end(); }

    // An error of the system, or 0.
    int start(const ProbeSettings& settings) {
        if (!requests_.open() || !report_.open() || !output_.open()) return errno;
        ::fcntl(report_.ends[0], F_SETFL, O_NONBLOCK);
        ::fcntl(output_.ends[0], F_SETFL, O_NONBLOCK);
        const int error = spawn(settings);
        if (error != 0) child_ = 0;
        requests_.close(0);
        report_.close(1);
        output_.close(1);
        return error;
    }

    // False once it has ended, for good or ill.
    bool probe(const std::string& library, ProbeTranscript& transcript) {
        const auto latest = Clock::now() + transcript.deadline;
        request(library);
        std::array<pollfd, 2> pipes{pollfd{report_.ends[0], POLLIN, 0}, pollfd{output_.ends[0], POLLIN, 0}};
        while (true) {
            constexpr auto slice = std::chrono::milliseconds(10);
            ::poll(pipes.data(), pipes.size(), static_cast<int>(slice.count()));
            const bool gone = ends_within(child_, std::chrono::milliseconds(0));
            if (!drain(report_.ends[0], transcript.lines)) pipes[0].fd = -1;
            if (!drain_last(output_.ends[0], transcript.output)) pipes[1].fd = -1;
            if (const auto status = take_ending(transcript.lines)) {
                drain_last(output_.ends[0], transcript.output);
                transcript.wait_status = *status;
                return true;
            }
            transcript.too_long = transcript.lines.size() > most_lines;
            transcript.timed_out = !gone && Clock::now() >= latest;
            if (gone || transcript.timed_out || transcript.too_long) break;
        }
        transcript.wait_status = end();
        return false;
    }

private:
    int spawn(const ProbeSettings& settings) {
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, requests_.ends[0], 0);
        posix_spawn_file_actions_adddup2(&files, output_.ends[1], 1);
        posix_spawn_file_actions_adddup2(&files, output_.ends[1], 2);
        posix_spawn_file_actions_adddup2(&files, report_.ends[1], report_fd);
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
        const auto& limits = settings.limits;
        std::vector<std::string> words{settings.program,   "-",
                                       "--report-fd",      std::to_string(report_fd),
                                       "--memory",         std::to_string(limits.memory_bytes),
                                       "--processor-time", std::to_string(limits.processor_time.count())};
        std::vector<std::string> variables = probe_environment(environ);
        const int error = ::posix_spawn(&child_, settings.program.c_str(), &files, &attributes,
                                        pointers_to(words).data(), pointers_to(variables).data());
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&files);
        return error;
    }

    // A program that has ended is found out by who waits for its report.
    void request(const std::string& library) const {
        while (::send(requests_.ends[1], library.c_str(), library.size() + 1, MSG_NOSIGNAL) < 0 &&
               errno == EINTR) {
        }
    }

    // Its status. Nobody listening is what makes it end what it probes.
    int end() {
        requests_.close(1);
        report_.close(0);
        output_.close(0);
        if (child_ == 0) return 0;
        if (!ends_within(child_, std::chrono::seconds(10))) ::kill(child_, SIGKILL);
        int status = 0;
        while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
        }
        child_ = 0;
        return status;
    }

    base::Pipe requests_{base::Pipe::Of::messages, least_end};
    base::Pipe report_{base::Pipe::Of::bytes, least_end}, output_{base::Pipe::Of::bytes, least_end};
    pid_t child_ = 0;
};

ProbeProcess::ProbeProcess(ProbeSettings settings) : settings_(std::move(settings)) {}
ProbeProcess::~ProbeProcess() = default;

ProbeReport ProbeProcess::probe(const std::string& library) {
    const auto begin = Clock::now();
    if (!process_) {
        auto process = std::make_unique<Process>();
        if (const int error = process->start(settings_); error != 0)
            return could_not_start(settings_.program, error);
        process_ = std::move(process);
    }
    ProbeTranscript transcript;
    transcript.deadline = settings_.deadline;
    transcript.limits = settings_.limits;
    if (!process_->probe(library, transcript) || transcript.wait_status != 0) process_.reset();
    ProbeReport result = read_transcript(transcript);
    result.milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
    return result;
}

}  // namespace switchyard::loader
