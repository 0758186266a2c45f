#include "core/workbench/cli/train/other_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "core/kernel/base/child_process.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/distributed/c10d.h"

namespace switchyard::cli {
namespace {

constexpr int last_words_ms = 5000;

// What is wrong with an answer; "": nothing.
std::string error_in(const std::string& line) {
    if (line.empty()) return "it is gone";
    const auto parsed = base::parse_json(line);
    if (!parsed.error.empty()) return "its answer is no JSON";
    return base::text_of(parsed.value, "type") == "error" ? base::text_of(parsed.value, "text") : "";
}

}  // namespace

OtherRanks::OtherRanks(std::int64_t ranks) {
    std::signal(SIGPIPE, SIG_IGN);  // that one is gone shows in the answer that it does not give
    const base::Program program{
        .words = {machine::belonging_path("libexec/switchyard/switchyard-run"), "arm"},
        .folder = "",
        .leads_group = false};
    distributed::Processors processors;
    for (std::int64_t rank = 1; rank < ranks; ++rank) {
        processors.take_part(rank, ranks);
        Other other;
        base::Pipe input, output;
        std::string problem;
        other.process = base::start_program(program, {input.ends[0], output.ends[1], STDERR_FILENO}, problem);
        if (other.process < 0)
            throw Failure("rank " + std::to_string(rank) + " cannot be started: " + problem,
                          Exit::run_failed);
        other.input = distributed::Descriptor(input.take(1));
        other.output = distributed::Descriptor(output.take(0));
        others_.push_back(std::move(other));
    }
    processors.stay_on(0, ranks);
}

OtherRanks::~OtherRanks() {
    for (auto& other : others_) other.input.close();
    for (auto& other : others_) {
        if (!base::ending_within(other.process, 500.0)) ::kill(other.process, SIGKILL);
        base::reap(other.process);
    }
}

void OtherRanks::tell(const base::Json& message, int port) {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        auto told = message;
        told["rank"] = i + 1;
        told["port"] = port;
        const auto line = told.dump() + "\n";
        for (std::size_t sent = 0; sent < line.size();) {
            const ssize_t wrote = ::write(others_[i].input.get(), line.data() + sent, line.size() - sent);
            if (wrote < 0 && errno != EINTR) break;  // hear says that it is gone
            if (wrote > 0) sent += static_cast<std::size_t>(wrote);
        }
    }
}

std::string OtherRanks::line_of(Other& other, int milliseconds) {
    while (true) {
        if (const auto end = other.read.find('\n'); end != std::string::npos) {
            auto line = other.read.substr(0, end);
            other.read.erase(0, end + 1);
            return line;
        }
        pollfd file{other.output.get(), POLLIN, 0};
        const int ready = ::poll(&file, 1, milliseconds);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return "";
        std::array<char, 4096> chunk;
        const ssize_t got = ::read(other.output.get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return "";
        other.read.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

void OtherRanks::hear() {
    std::string error;
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const auto wrong = error_in(line_of(others_[i], -1));
        if (error.empty() && !wrong.empty()) error = "rank " + std::to_string(i + 1) + ": " + wrong;
    }
    if (!error.empty()) throw Failure(error, Exit::run_failed);
}

std::string OtherRanks::said_meanwhile() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const auto line = line_of(others_[i], last_words_ms);
        if (const auto wrong = error_in(line); !wrong.empty() && !line.empty())
            return "rank " + std::to_string(i + 1) + ": " + wrong;
    }
    return "";
}

std::unique_ptr<distributed::Group> join_arm(std::int64_t rank, std::int64_t ranks, int port, int listening,
                                             const config::Config& config) {
    distributed::RankEnvironment place;
    place.rank = place.local_rank = rank;
    place.world_size = place.local_world_size = ranks;
    place.address = "127.0.0.1";
    place.port = port;
    place.listening = listening;
    const auto store = distributed::connect_store(place, config.distributed.timeout);
    return distributed::join_group(store, place, config::Collectives::gloo, config.distributed);
}

}  // namespace switchyard::cli
