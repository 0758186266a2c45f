#include "core/workbench/distributed/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/kernel/base/child_process.h"
#include "core/workbench/distributed/environment.h"
#include "core/workbench/distributed/local_ranks.h"

namespace switchyard::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_lines = 5;
constexpr std::size_t longest_line = 64 * 1024;

// Of a rank that was asked to stop and did so, as a shell names that.
bool is_stop(int exit_code) {
    return exit_code == 128 + SIGINT || exit_code == 128 + SIGTERM || exit_code == 128 + SIGHUP;
}

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

// The signals that end a program, and that of a child's end, come through a descriptor while it lives.
class Signals {
public:
    Signals() {
        ::sigemptyset(&set_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&set_, signal);
        ::sigprocmask(SIG_BLOCK, &set_, &before_);
        descriptor_ = Descriptor(::signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC));
        if (descriptor_.get() < 0) fail("no signals can be received");
    }
    ~Signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    int descriptor() const { return descriptor_.get(); }
    // 0: none is left.
    int next() {
        signalfd_siginfo info{};
        if (::read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
        return static_cast<int>(info.ssi_signo);
    }

private:
    sigset_t set_{}, before_{};
    Descriptor descriptor_;
};

struct Stream {
    Descriptor end;
    std::string rest;  // of a line that has not ended
};

struct Rank {
    pid_t process = -1;
    std::array<Stream, 2> streams;  // standard output, standard error
    std::deque<std::string> last_lines;
    std::optional<base::Ending> ending;
    int exit_code = 0;
    bool killed = false;  // by a signal
};

class Ranks {
public:
    Ranks(const Launch& launch, const LaunchHooks& hooks) : launch_(launch), hooks_(hooks) {}
    ~Ranks() {
        for (auto& rank : ranks_) {
            if (rank.process < 0 || rank.ending) continue;
            ::kill(-rank.process, SIGKILL);
            base::reap(rank.process);
        }
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    LaunchResult run() {
        start_all();
        while (!all_over()) {
            wait_for_news();
            for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
                if (signal == SIGCHLD) continue;
                result_.signal = signal;
                for (const auto& rank : ranks_)
                    if (!rank.ending) ::kill(rank.process, signal);
            }
            look_for_endings();
            if (!first_failed_ || Clock::now() < kill_at_) continue;
            kills_ = true;
            for (const auto& rank : ranks_)
                if (!rank.ending) ::kill(-rank.process, SIGKILL);
        }
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) finish_lines(rank);
        conclude();
        return std::move(result_);
    }

private:
    void start_all() {
        ranks_.resize(static_cast<std::size_t>(launch_.ranks));
        auto meeting = open_meeting();
        Processors processors;
        for (std::int64_t rank = 0; rank < launch_.ranks; ++rank) {
            const bool own_part = processors.take_part(rank, launch_.ranks);
            start(rank, meeting, own_part);
            meeting.socket.close();  // rank 0 has it
        }
    }

    void start(std::int64_t rank, const Meeting& meeting, bool own_part) {
        auto& started = ranks_[static_cast<std::size_t>(rank)];
        const auto number = [](std::int64_t value) { return std::to_string(value); };
        base::Program program;
        program.words = launch_.words;
        program.environment = {"RANK=" + number(rank),
                               "LOCAL_RANK=" + number(rank),
                               "WORLD_SIZE=" + number(launch_.ranks),
                               "LOCAL_WORLD_SIZE=" + number(launch_.ranks),
                               "MASTER_ADDR=127.0.0.1",
                               "MASTER_PORT=" + number(meeting.port),
                               "TORCHELASTIC_USE_AGENT_STORE=",
                               std::string(attempt_variable) + "=" + number(launch_.attempt),
                               std::string(listening_variable) + "="};
        if (rank == 0) {
            program.environment.back() += number(meeting.socket.get());
            program.keeps = meeting.socket.get();
        }
        if (!own_part && std::getenv("OMP_NUM_THREADS") == nullptr)
            program.environment.emplace_back("OMP_NUM_THREADS=1");
        base::Pipe out, error;
        const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        std::string problem;
        started.process = base::start_program(program, {nothing.get(), out.ends[1], error.ends[1]}, problem);
        if (started.process < 0)
            throw std::runtime_error("rank " + number(rank) + " cannot be started: " + problem);
        started.streams[0].end = Descriptor(out.take(0));
        started.streams[1].end = Descriptor(error.take(0));
        for (const auto& stream : started.streams) ::fcntl(stream.end.get(), F_SETFL, O_NONBLOCK);
    }

    bool all_over() const {
        return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.ending.has_value(); });
    }

    void wait_for_news() {
        std::vector<pollfd> waited{{signals_.descriptor(), POLLIN, 0}};
        for (const auto& rank : ranks_)
            for (const auto& stream : rank.streams)
                if (stream.end.get() >= 0) waited.push_back({stream.end.get(), POLLIN, 0});
        int milliseconds = -1;
        if (first_failed_) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(kill_at_ - Clock::now());
            milliseconds = std::max(1, static_cast<int>(left.count()) + 1);
        }
        if (::poll(waited.data(), waited.size(), milliseconds) < 0 && errno != EINTR) fail("poll");
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) read_lines(rank);
    }

    void read_lines(std::size_t rank) {
        for (std::size_t which = 0; which < 2; ++which) {
            auto& stream = ranks_[rank].streams[which];
            std::array<char, 16384> bytes;
            while (stream.end.get() >= 0) {
                const auto got = ::read(stream.end.get(), bytes.data(), bytes.size());
                if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
                if (got <= 0) {
                    stream.end.close();
                    break;
                }
                stream.rest.append(bytes.data(), static_cast<std::size_t>(got));
                tell_lines(rank, which);
            }
        }
    }

    void tell_lines(std::size_t rank, std::size_t which) {
        auto& rest = ranks_[rank].streams[which].rest;
        std::size_t begin = 0;
        while (true) {
            auto end = rest.find('\n', begin);
            if (end == std::string::npos && rest.size() - begin < longest_line) break;
            end = std::min(end, begin + longest_line);
            tell(rank, which, rest.substr(begin, end - begin));
            begin = end + (end < rest.size() && rest[end] == '\n' ? 1 : 0);
        }
        rest.erase(0, begin);
    }

    void tell(std::size_t rank, std::size_t which, const std::string& line) {
        auto& kept = ranks_[rank].last_lines;
        if (which == 1) {
            kept.push_back(line);
            if (kept.size() > kept_lines) kept.pop_front();
            if (line.starts_with("error: ") || line.find(": error: ") != std::string::npos)
                result_.told = true;
        }
        if (hooks_.line) hooks_.line(static_cast<std::int64_t>(rank), which == 1, line);
    }

    // What a process that it left behind holds open is not waited for.
    void finish_lines(std::size_t rank) {
        read_lines(rank);
        for (std::size_t which = 0; which < 2; ++which) {
            auto& stream = ranks_[rank].streams[which];
            if (!stream.rest.empty()) tell(rank, which, std::exchange(stream.rest, ""));
            stream.end.close();
        }
    }

    void look_for_endings() {
        // Of those that ended since the last look: one that was killed, else the first.
        std::optional<std::size_t> failed;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            auto& one = ranks_[rank];
            if (one.ending) continue;
            auto ending = base::ending_within(one.process, 0.0);
            if (!ending) continue;
            read_lines(rank);
            int status = 0;
            while (::waitpid(one.process, &status, 0) < 0 && errno == EINTR) {
            }
            ::kill(-one.process, SIGKILL);  // what it may have left in its group
            one.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            one.ending = std::move(ending);
            if (one.ending->well) continue;
            one.killed = WIFSIGNALED(status);
            if (!failed || (one.killed && !ranks_[*failed].killed)) failed = rank;
        }
        if (!failed || result_.signal != 0) return;
        // A process that is killed takes a while to be gone, and those that miss it may end before it has.
        const bool missed = first_failed_ && !result_.killed && !kills_ && ranks_[*failed].killed;
        if (first_failed_ && !missed) return;
        if (!first_failed_)
            kill_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(launch_.seconds_to_end));
        first_failed_ = failed;
        result_.killed = ranks_[*failed].killed;
    }

    void conclude() {
        if (result_.signal != 0) {
            result_.exit_code = 128 + result_.signal;
            return;
        }
        if (!first_failed_) return;
        const auto& failed = ranks_[*first_failed_];
        result_.exit_code = result_.killed ? 1 : failed.exit_code;
        if (!result_.killed && is_stop(failed.exit_code)) return;
        result_.failure = "rank " + std::to_string(*first_failed_) + " of " + std::to_string(ranks_.size()) +
                          " " + failed.ending->text;
        if (!failed.last_lines.empty()) result_.failure += "; the last that it printed:";
        for (const auto& line : failed.last_lines) result_.failure += "\n    " + line;
    }

    const Launch& launch_;
    const LaunchHooks& hooks_;
    Signals signals_;
    std::vector<Rank> ranks_;
    std::optional<std::size_t> first_failed_;
    Clock::time_point kill_at_;
    bool kills_ = false;  // those that had not ended by then
    LaunchResult result_;
};

}  // namespace

LaunchResult launch(const Launch& launch, const LaunchHooks& hooks) { return Ranks(launch, hooks).run(); }

}  // namespace switchyard::distributed
