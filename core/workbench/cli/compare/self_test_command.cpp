// switchyard compare self-test: whether the statistics of comparisons hold what docs/compare.md promises.
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "core/kernel/base/child_process.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/bench/measure/stopwatch.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/compare/busy_loop.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/temporary_folder.h"
#include "core/workbench/compare/arms/arm_guard.h"
#include "core/workbench/compare/experiment/read_comparison.h"
#include "core/workbench/compare/experiment/self_test.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct SelfTestOptions {
    std::string recorded;
    double slow_down_percent = 3.0;
    compare::SelfTestSettings settings;
    std::string live;  // a configuration
    std::vector<std::string> overrides;
    int comparisons = 20;
    double seconds = 90.0;  // of each
    bool beside_load = false;
};

constexpr double spells_of_load = 3.0;  // in the time of a comparison, and as many without

// One comparison of a configuration with itself and with itself slowed, by this program as a user runs it.
// Nothing if it was stopped. Ctrl-C in a terminal reaches that program as well.
std::optional<compare::RecordedComparison> compared(const SelfTestOptions& options, int number,
                                                    const std::string& result, const train::StopSignal& stop,
                                                    BusyLoop* load) {
    const auto slowed = base::digits(options.slow_down_percent, 6);
    std::vector<std::string> words{machine::program_path(), "compare", options.live};
    for (const auto& arm :
         {std::string("base: slowed=0"), std::string("again: slowed=0"), "slowed: slowed=" + slowed})
        words.insert(words.end(), {"--arm", arm});
    for (const auto& one : options.overrides) words.insert(words.end(), {"--set", one});
    words.insert(words.end(), {"--time", base::digits(options.seconds, 6), "--order-seed",
                               std::to_string(options.settings.seed + static_cast<std::uint64_t>(number)),
                               "--json", result});
    base::Program program;
    program.words = std::move(words);
    program.leads_group = false;  // so that Ctrl-C ends it as well
    std::string error;
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const auto child = base::start_program(program, {nowhere, nowhere, STDERR_FILENO}, error);
    ::close(nowhere);
    if (child < 0) throw Failure("cannot compare: " + error, Exit::run_failed);
    std::optional<base::Ending> ending;
    bench::HostStopwatch clock;
    const double spell_ms = options.seconds * 1e3 / (2.0 * spells_of_load), begun = clock.now_ms();
    for (bool told = false; !ending; told = told || stop) {
        if (load != nullptr) load->let_run(std::fmod((clock.now_ms() - begun) / spell_ms, 2.0) >= 1.0);
        ending = base::ending_within(child, 100.0);
        if (!ending && stop && !told && stop.received() != SIGINT) ::kill(child, stop.received());
    }
    base::reap(child);
    if (load != nullptr) load->let_run(false);
    if (stop) return std::nullopt;
    if (!ending->well)
        throw Failure("comparison " + std::to_string(number + 1) + " " + ending->text, Exit::run_failed);
    return compare::read_comparison(result);
}

// As many as `options` says, or as were made when a signal came, whose exit code is returned, too.
int make(SelfTestOptions& options, std::vector<compare::SelfTestRow>& rows) {
    if (!options.recorded.empty()) throw Failure("--live: makes comparisons; RESULT is one that was made");
    train::StopSignal stop;
    stop.note();
    const TemporaryFolder folder;
    const compare::ArmGuard guard(folder.path());
    std::optional<BusyLoop> load;
    if (options.beside_load) load.emplace();
    std::vector<compare::Comparison> comparisons;
    std::string host;
    for (int number = 0; number < options.comparisons; ++number) {
        auto read = compared(options, number, folder.path() + "/result.json", stop, load ? &*load : nullptr);
        if (!read) break;
        comparisons.push_back(std::move(read->comparison));
        host = std::move(read->host);
        std::cerr << "comparison " << number + 1 << " of " << options.comparisons << " is made\n";
    }
    const int made = static_cast<int>(comparisons.size());
    if (stop)
        std::cout << "STOPPED before its end, after " << made << " of " << options.comparisons
                  << " comparisons\n";
    if (made == 0) return stop.exit_code();
    std::cout << options.live << ", compared " << (made == 1 ? "once" : std::to_string(made) + " times")
              << " for " << base::digits(options.seconds) << " s on " << host
              << (options.beside_load ? ", beside a busy loop for half of the time" : "") << "\n\n";
    options.settings.replays = made;
    rows.push_back(compare::test_on_live(std::move(comparisons)));
    return stop ? stop.exit_code() : Exit::fine;
}

int run(SelfTestOptions options) {
    options.settings.slow_down = options.slow_down_percent / 100.0;
    if (options.beside_load && options.live.empty())
        throw Failure("--beside-load: is for comparisons that are made; expected --live CONFIG beside it");
    std::vector<compare::SelfTestRow> rows;
    int stopped = 0;
    if (!options.live.empty()) {
        stopped = make(options, rows);
        if (rows.empty()) return stopped;
    } else if (options.recorded.empty()) {
        rows = compare::test_on_simulated(options.settings);
        std::cout << "simulated: " << options.settings.rounds << " rounds of " << options.settings.blocks
                  << " blocks, each arm's scatter by " << 100.0 * options.settings.noise << " %; "
                  << options.settings.replays << " comparisons each\n\n";
    } else {
        const auto read = compare::read_comparison(options.recorded);
        auto row = compare::test_on_recorded(read.comparison, options.settings);
        if (!row)
            throw Failure(
                options.recorded +
                ": no two arms have six blocks: `switchyard compare CONFIG --json FILE` records more");
        rows.push_back(std::move(*row));
        std::cout << options.recorded << " replayed " << options.settings.replays << " times, on "
                  << read.host << "\n\n";
    }
    std::cout << compare::to_text(rows, options.settings);
    if (stopped != 0) return stopped;
    const bool hold = std::all_of(rows.begin(), rows.end(), [&](const compare::SelfTestRow& row) {
        return compare::holds(row, options.settings.replays);
    });
    return hold ? Exit::fine : Exit::run_failed;
}

}  // namespace

Action setup_self_test(CLI::App& command) {
    const auto options = std::make_shared<SelfTestOptions>();
    auto& settings = options->settings;
    command
        .add_option(
            "RESULT", options->recorded,
            "what `switchyard compare --json` wrote, whose blocks are replayed; without: simulated noise")
        ->type_name("");
    command
        .add_option("--live", options->live,
                    "compare this configuration with itself, and with itself slowed, instead of replaying")
        ->type_name("CONFIG");
    command.add_option("--set", options->overrides, "with --live: a value of the configuration")
        ->take_all()
        ->type_name("KEY=VALUE");
    add_number(command, "--comparisons", options->comparisons, "that --live makes", "N",
               whole_number(1, 1000))
        ->capture_default_str();
    add_number(command, "--time", options->seconds, "of each comparison that --live makes", "SECONDS",
               number(1e-3, 1e9))
        ->capture_default_str();
    command.add_flag("--beside-load", options->beside_load,
                     "with --live: beside a busy loop, which runs in three spells of a sixth of --time");
    add_number(command, "--replays", settings.replays, "comparisons that are replayed", "N",
               whole_number(10, 100000))
        ->capture_default_str();
    add_number(command, "--slow-down", options->slow_down_percent, "by which an arm is slowed, to be found",
               "PERCENT", number(0.1, 100.0))
        ->capture_default_str();
    add_number(command, "--rounds", settings.rounds, "of a simulated comparison", "N", whole_number(1, 100))
        ->capture_default_str();
    add_number(command, "--blocks", settings.blocks, "of each round", "N", whole_number(1, 1000))
        ->capture_default_str();
    add_number(command, "--seed", settings.seed, "of what is drawn", "N", whole_number(0))
        ->capture_default_str();
    return [options] { return run(*options); };
}

}  // namespace switchyard::cli
