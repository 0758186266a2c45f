// switchyard report RUN_DIR
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/report/run_report.h"

namespace switchyard::cli {
namespace {

struct ReportOptions {
    std::string run;
    std::string steps;
    std::string html;
};

int write_report(const ReportOptions& options) {
    const auto run = report::read_run(options.run);
    std::optional<report::StackTimes> stacks;
    if (!options.steps.empty()) stacks = report::read_stack_times(options.steps);
    const auto html = report::run_report(run, stacks ? &*stacks : nullptr);
    const auto target =
        options.html.empty() ? (std::filesystem::path(options.run) / "report.html").string() : options.html;
    write_file(target, html);
    std::cout << target << ": " << (html.size() + 999) / 1000 << " kB"
              << (run.summary ? "" : ", of a run that has not finished") << '\n';
    return Exit::fine;
}

}  // namespace

Action setup_report(CLI::App& command) {
    const auto options = std::make_shared<ReportOptions>();
    command.add_option("RUN_DIR", options->run, "folder of a run, as `switchyard train --run` writes it")
        ->required()
        ->type_name("");
    command
        .add_option(
            "--steps", options->steps,
            "also show this comparison: a file that `switchyard compare CONFIG --json FILE` or `switchyard "
            "bench KIND --json FILE` wrote")
        ->type_name("FILE");
    command.add_option("--html", options->html, "the page to write; default: RUN_DIR/report.html")
        ->check(output_file())
        ->type_name("OUT");
    return [options] {
        try {
            return write_report(*options);
        } catch (const report::InputError& error) {
            throw Failure(error.what());
        }
    };
}

}  // namespace switchyard::cli
