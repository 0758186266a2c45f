// switchyard fit CONFIG: the largest batch.size whose training step stays within a memory.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/train/fit_run.h"
#include "core/workbench/compare/fit/fit_report.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct FitOptions {
    FitRequest request;
    JsonOption json;
};

int run_fit(const FitOptions& options) {
    train::StopSignal stop;
    FitRun run(options.request);
    stop.note();  // what is known by then is shown
    const auto result = run.search([&] { return static_cast<bool>(stop); });
    const int stopped = stop.exit_code();
    stop.end_at_once();
    show_progress("");
    auto json = compare::fit_json(result, run.memory());
    json["command"] = command_line();
    write_json(options.json, json);
    if (!options.json.on_stdout()) std::cout << compare::fit_text(result, run.memory());
    if (result.stopped) return stopped;
    return result.largest > 0 && result.failed_above() == nullptr ? Exit::fine : Exit::run_failed;
}

}  // namespace

Action setup_fit(CLI::App& command) {
    const auto options = std::make_shared<FitOptions>();
    auto& request = options->request;
    add_job_options(command, request.job);
    add_fit_memory(command, request.memory, "what a step may take");
    add_number(command, "--most", request.most, "the largest batch that is tried", "N",
               whole_number(1, 1 << 24))
        ->capture_default_str();
    add_number(command, "--steps", request.steps, "that are timed of each size, after some that are not", "N",
               whole_number(1, 10000))
        ->capture_default_str();
    add_number(command, "--timeout", request.timeout, "longest time for a size to prepare, and for its steps",
               "SECONDS", number(0.001, 1e9))
        ->capture_default_str();
    command
        .add_option("--lengths", request.lengths,
                    "lengths of the random samples where the job has no data, as 8-64")
        ->type_name("MIN-MAX");
    add_json(command, options->json);
    return [options] { return run_fit(*options); };
}

}  // namespace switchyard::cli
