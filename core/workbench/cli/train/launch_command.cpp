// switchyard launch -n N [--restarts K] [--] train ... | bench ranks ...
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "core/kernel/base/terminal.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/distributed/launcher.h"

namespace switchyard::cli {
namespace {

struct LaunchOptions {
    std::int64_t ranks = 0;
    std::int64_t restarts = 0;
    std::vector<std::string> words;
};

constexpr std::int64_t most_ranks = 1024;

void check(LaunchOptions& options) {
    if (!options.words.empty() && options.words.front() == "--") options.words.erase(options.words.begin());
    if (options.ranks < 1 || options.ranks > most_ranks)
        throw Failure("-n: expected a number of processes from 1 to " + std::to_string(most_ranks) +
                      ", got " + std::to_string(options.ranks));
    if (options.restarts < 0)
        throw Failure("--restarts: expected 0 or more, got " + std::to_string(options.restarts));
    const auto& words = options.words;
    const bool trains = !words.empty() && words.front() == "train";
    const bool benches = words.size() > 1 && words[0] == "bench" && words[1] == "ranks";
    if (!trains && !benches)
        throw Failure(
            "expected the command that all processes run behind the options, train or bench ranks; "
            "got " +
            (words.empty() ? "nothing" : "\"" + words.front() + "\"") +
            "\n`switchyard launch -h` shows an example");
    if (benches && options.restarts > 0)
        throw Failure("--restarts: bench ranks leaves no checkpoint to go on from; expected 0, got " +
                      std::to_string(options.restarts));
}

// From a run's newest checkpoint, whether or not there is one yet.
std::vector<std::string> resuming(std::vector<std::string> words) {
    const bool resumes = std::ranges::any_of(
        words, [](const std::string& word) { return word == "--resume" || word.starts_with("--resume="); });
    if (!resumes) words.emplace_back("--resume=auto");
    return words;
}

// What another start may change: not what the input or its numbers are.
bool may_go_better(const distributed::LaunchResult& result) {
    return !result.failure.empty() && result.exit_code != Exit::bad_input &&
           result.exit_code != Exit::numerics;
}

int launch_ranks(const LaunchOptions& options) {
    const bool trains = options.words.front() == "train";
    if (trains) {  // which goes on where nobody reads what it prints any more
        for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
        base::drop_what_nobody_takes();
    }
    distributed::LaunchHooks hooks;
    hooks.line = [](std::int64_t rank, bool to_stderr, const std::string& line) {
        const auto text = "[rank " + std::to_string(rank) + "] " + line + "\n";
        if (to_stderr)
            std::cerr << text << std::flush;
        else
            std::cout << text << std::flush;
    };
    distributed::Launch launch{{machine::program_path()}, options.ranks};
    launch.words.insert(launch.words.end(), options.words.begin(), options.words.end());
    while (true) {
        const auto result = distributed::launch(launch, hooks);
        const bool again = may_go_better(result) && launch.attempt < options.restarts;
        if (!result.failure.empty() && (result.killed || !result.told || again))
            std::cerr << ((again ? "" : "error: ") + result.failure + "\n");
        // Whoever read it may have gone, as head does: a run is whole all the same.
        if (trains) std::cout.clear();
        if (!again) return result.exit_code;
        ++launch.attempt;
        launch.words = resuming(std::move(launch.words));
        std::cerr << ("starting all ranks again, from the last checkpoint: " +
                      std::to_string(launch.attempt) + " of " + std::to_string(options.restarts) +
                      " times\n");
    }
}

}  // namespace

Action setup_launch(CLI::App& command) {
    const auto options = std::make_shared<LaunchOptions>();
    command.add_option("-n,--ranks", options->ranks, "number of processes")->type_name("N")->required();
    command
        .add_option("--restarts", options->restarts,
                    "how often all are started again from the last checkpoint after one failed")
        ->type_name("K")
        ->capture_default_str();
    command.prefix_command();
    CLI::App* const app = &command;
    return [options, app] {
        options->words = app->remaining();
        check(*options);
        return launch_ranks(*options);
    };
}

}  // namespace switchyard::cli
