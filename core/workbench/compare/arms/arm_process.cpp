#include "core/workbench/compare/arms/arm_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::compare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_line = 8U << 20;
constexpr std::size_t longest_tail = 2000;

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// "300", "0.600".
std::string seconds_text(double ms) {
    const double seconds = ms / 1000.0;
    return std::floor(seconds) == seconds ? base::fixed(seconds, 0) : base::digits(seconds);
}

// Everything that is there. False: the other side has closed it.
bool drain(int fd, std::string& into, std::size_t most) {
    std::array<char, 1 << 16> chunk;
    while (into.size() <= most) {
        const ssize_t got = ::read(fd, chunk.data(), chunk.size());
        if (got > 0)
            into.append(chunk.data(), static_cast<std::size_t>(got));
        else if (got == 0)
            return false;
        else if (errno != EINTR)
            return errno == EAGAIN;
    }
    return true;
}

}  // namespace

std::unique_ptr<ArmProcess> ArmProcess::start(const base::Program& program, ArmGuard& guard,
                                              std::function<bool()> stop, std::string& error) {
    ::signal(SIGPIPE, SIG_IGN);  // that an arm has ended shows in the request it does not answer
    std::unique_ptr<ArmProcess> arm(new ArmProcess(guard, std::move(stop)));
    base::Pipe input, output, errors;
    base::Program watched = program;
    watched.tells = guard.pipe();
    const pid_t child = base::start_program(watched, {input.ends[0], output.ends[1], errors.ends[1]}, error);
    if (child < 0) return nullptr;
    arm->child_ = child;
    arm->input_ = input.take(1);
    arm->output_ = output.take(0);
    arm->errors_ = errors.take(0);
    for (const int fd : {arm->input_, arm->output_, arm->errors_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    arm->freeze();
    return arm;
}

ArmProcess::~ArmProcess() {
    kill();
    for (const int fd : {input_, output_, errors_}) {
        if (fd >= 0) ::close(fd);
    }
}

void ArmProcess::freeze() {
    if (child_ < 0) return;
    ::kill(-child_, SIGSTOP);
    const auto start = Clock::now();
    while (since(start) < 1000.0) {
        siginfo_t info{};
        ::waitid(P_PID, static_cast<id_t>(child_), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid != 0) return;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

void ArmProcess::quit(double grace_ms) {
    constexpr std::string_view quit = "{\"type\":\"quit\"}\n";
    if (child_ < 0) return;
    [[maybe_unused]] const auto sent = ::write(input_, quit.data(), quit.size());
    ::close(std::exchange(input_, -1));
    ::kill(-child_, SIGCONT);
    (void)base::ending_within(child_, grace_ms);
    kill();
}

void ArmProcess::kill() {
    if (child_ < 0) return;
    ::kill(-child_, SIGKILL);  // ends stopped processes too
    guard_.forget(child_);
    base::reap(child_);
    child_ = -1;
}

std::string ArmProcess::stderr_tail() const {
    std::string words = tail_;
    while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.pop_back();
    return words;
}

bool ArmProcess::has_ended() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid != 0;
}

// After its output has ended: a little time for the process to end as well.
std::string ArmProcess::exit_text() {
    const auto ending = base::ending_within(child_, 2000.0);
    drain(errors_, tail_, 1U << 20);
    if (tail_.size() > longest_tail) tail_.erase(0, tail_.size() - longest_tail);
    return ending ? ending->text : "closed its standard output";
}

// True: `exchange` is complete.
bool ArmProcess::take_output(Exchange& exchange) {
    const bool open = drain(output_, read_, longest_line);
    const auto end = read_.find('\n');
    if (end != std::string::npos) {
        exchange.end = Exchange::End::answered;
        exchange.text = read_.substr(0, end);
        read_.erase(0, end + 1);
        return true;
    }
    if (read_.size() > longest_line) {
        exchange.end = Exchange::End::unsolicited;
        exchange.text = "its line does not end: '" + base::quoted(read_) + "'";
        return true;
    }
    if (!open) {
        exchange.end = Exchange::End::exited;
        exchange.text = exit_text();
        return true;
    }
    return false;
}

Exchange ArmProcess::wait_for_line(const std::string& line, double timeout_ms) {
    Exchange exchange;
    std::string left = line + '\n';
    const auto start = Clock::now();
    while (true) {
        if (stop_ && stop_()) {
            exchange.end = Exchange::End::stopped;
            return exchange;
        }
        const double rest = timeout_ms - since(start);
        if (rest <= 0.0) {
            exchange.end = Exchange::End::timed_out;
            exchange.text = "did not answer within " + seconds_text(timeout_ms) + " s";
            return exchange;
        }
        std::array<pollfd, 3> files{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                                    pollfd{left.empty() ? -1 : input_, POLLOUT, 0}};
        // What it has started may hold its output when it is gone itself; all that it wrote is there then.
        const bool gone = has_ended();
        // Woken by signals too; the slice is for one that comes just before.
        ::poll(files.data(), files.size(), gone ? 0 : static_cast<int>(std::clamp(rest, 1.0, 500.0)));
        if (!left.empty()) {
            const ssize_t sent = ::write(input_, left.data(), left.size());
            if (sent > 0) left.erase(0, static_cast<std::size_t>(sent));
            if (sent < 0 && errno == EPIPE) left.clear();
        }
        if (files[1].revents != 0 && !drain(errors_, tail_, 1U << 20)) {
            ::close(errors_);
            errors_ = -1;
        }
        if (tail_.size() > longest_tail) tail_.erase(0, tail_.size() - longest_tail);
        if (files[0].revents != 0 && take_output(exchange)) {
            exchange.wall_ms = since(start);
            return exchange;
        }
        if (gone) {
            exchange.end = Exchange::End::exited;
            exchange.text = exit_text();
            return exchange;
        }
    }
}

Exchange ArmProcess::request(const std::string& line, double timeout_ms) {
    if (child_ < 0) return {Exchange::End::exited, "has been ended", 0.0};
    drain(output_, read_, longest_line);
    if (!read_.empty())
        return {Exchange::End::unsolicited,
                "it sent a line without a request: '" + base::quoted(read_.substr(0, read_.find('\n'))) + "'",
                0.0};
    ::kill(-child_, SIGCONT);
    auto exchange = wait_for_line(line, timeout_ms);
    freeze();
    return exchange;
}

}  // namespace switchyard::compare
