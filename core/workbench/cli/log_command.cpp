#include "core/workbench/cli/log_command.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/kernel/base/child_process.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/show.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using base::Json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_waiting = std::size_t{1} << 20;  // bytes
constexpr double moment_ms = 1000.0;  // in which a process that closed its input has ended, if it is ending

std::string line_text(const Json& line) {
    return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json run_line(const config::Config& config, const train::RunDirectory& run, std::int64_t step) {
    std::error_code ignored;
    Json values = Json::object();
    const auto all = config::show_json(config);
    for (const auto& [key, shown] : all["values"].items()) values[key] = shown["value"];
    return {{"run",
             {{"folder", std::filesystem::absolute(run.path(), ignored).lexically_normal().string()},
              {"command", command_line()},
              {"step", step},
              {"config", std::move(values)}}}};
}

}  // namespace

LogCommand::~LogCommand() { (void)end_input(); }

std::string LogCommand::begin(const config::Config& config, const train::RunDirectory& run,
                              std::int64_t step) {
    if (config.log.command.empty()) return "";
    output_ = run.file("log_output.txt");
    end_seconds_ = config.log.end_seconds;
    name_ = config.log.command.front();
    const int output = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (output < 0) throw Failure("cannot write " + output_ + ": " + std::strerror(errno), Exit::run_failed);
    base::Pipe input;
    std::string error;
    // Its input ends however this process does, and what came before can still be passed on.
    process_ = base::start_program({config.log.command, "", false}, {input.ends[0], output, output}, error);
    ::close(output);
    if (process_ < 0) throw Failure(config::told_at(config, "log.command") + error);
    input_ = input.take(1);
    ::fcntl(input_, F_SETFL, O_NONBLOCK);
    return line(run_line(config, run, step));
}

std::string LogCommand::line(const Json& line) {
    if (process_ < 0) return "";
    const auto text = line_text(line);
    if (input_ >= 0) write_waiting();
    if (input_ < 0 || waiting_.size() + text.size() > most_waiting) {
        ++dropped_;
    } else {
        waiting_ += text;
        write_waiting();
    }
    if ((input_ >= 0 && dropped_ == 0) || std::exchange(warned_, true)) return "";
    if (input_ >= 0) return warning("does not read its standard input: lines are dropped until it does");
    const auto ending = base::ending_within(process_, moment_ms);
    return warning((ending ? ending->text : "closed its standard input") +
                   " before the training ended: it gets no more lines");
}

std::string LogCommand::end(const Json& summary) {
    auto text = line(summary);
    return text + end_input();
}

// What it takes at once.
void LogCommand::write_waiting() {
    while (!waiting_.empty()) {
        const auto sent = ::write(input_, waiting_.data(), waiting_.size());
        if (sent > 0) {
            waiting_.erase(0, static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            return close_input();
        }
    }
}

void LogCommand::close_input() {
    if (input_ >= 0) ::close(std::exchange(input_, -1));
    waiting_.clear();
}

std::string LogCommand::end_input() {
    if (process_ < 0) return "";
    const auto start = Clock::now();
    const auto left_ms = [&] {
        const std::chrono::duration<double, std::milli> passed = Clock::now() - start;
        return std::max(0.0, 1000.0 * end_seconds_ - passed.count());
    };
    while (input_ >= 0 && !waiting_.empty() && left_ms() > 0.0) {
        pollfd file{input_, POLLOUT, 0};
        ::poll(&file, 1, static_cast<int>(std::clamp(left_ms(), 1.0, 500.0)));
        write_waiting();
    }
    const bool lost = dropped_ > 0 || !waiting_.empty();
    close_input();
    const auto ending = base::ending_within(process_, left_ms());
    if (!ending) ::kill(-process_, SIGKILL);
    base::reap(std::exchange(process_, -1));
    if (!ending)
        return warning("did not end in time after its input had ended (log.end_seconds = " +
                       base::shown(end_seconds_) + ") and was killed");
    if (!ending->well && !warned_) return warning(ending->text);
    return lost && !warned_ ? warning("did not read all that it was sent") : "";
}

std::string LogCommand::warning(const std::string& what) const {
    return "warning: log.command: " + base::printable(name_) + " " + what + "; what it printed is in " +
           output_ + "\n";
}

}  // namespace switchyard::cli
