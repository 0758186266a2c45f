// switchyard compare self-test: whether the statistics of comparisons hold what docs/compare.md promises.
#include <algorithm>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/compare/experiment/read_comparison.h"
#include "core/workbench/compare/experiment/self_test.h"

namespace switchyard::cli {
namespace {

struct SelfTestOptions {
    std::string recorded;
    double slow_down_percent = 3.0;
    compare::SelfTestSettings settings;
};

int run(SelfTestOptions options) {
    options.settings.slow_down = options.slow_down_percent / 100.0;
    std::vector<compare::SelfTestRow> rows;
    if (options.recorded.empty()) {
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
    const bool holds = std::all_of(rows.begin(), rows.end(), [&](const compare::SelfTestRow& row) {
        return row.against_itself.faster + row.against_itself.slower <=
               compare::allowed_share(options.settings.replays);
    });
    return holds ? Exit::fine : Exit::run_failed;
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
