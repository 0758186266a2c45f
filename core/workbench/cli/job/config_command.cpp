// switchyard config show | schema
#include <fstream>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/config/schema.h"
#include "core/kernel/config/show.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
Action setup_config_show(CLI::App& command) {
    struct Options {
        JobOptions job;
        JsonOption json;
        bool origin = false;
    };
    const auto options = std::make_shared<Options>();
    add_job_options(command, options->job);
    command.add_flag("--origin", options->origin, "show where each value comes from");
    add_json(command, options->json);
    return [options] {
        const auto job = load_job_by_manifests(options->job);
        write_json(options->json, config::show_json(job.config));
        if (!options->json.on_stdout()) config::show(std::cout, job.config, options->origin);
        return Exit::fine;
    };
}

Action setup_config_schema(CLI::App& command) {
    struct Options {
        JsonOption json;
        std::string markdown;
    };
    const auto options = std::make_shared<Options>();
    add_json(command, options->json);
    command
        .add_option(
            "--markdown", options->markdown,
            "write docs/config.md instead, which leaves out the plugins' options; - is the standard output")
        ->check(output_file())
        ->type_name("FILE");
    return [options] {
        const bool markdown = !options->markdown.empty(), on_stdout = options->markdown == "-";
        if (on_stdout && options->json.on_stdout())
            throw Failure("--markdown -: --json - has the standard output; expected a file for one of them");
        if (on_stdout) config::write_schema_markdown(std::cout);
        if (markdown && !on_stdout) {
            std::ostringstream text;
            config::write_schema_markdown(text);
            write_file(options->markdown, text.str());
        }
        if (markdown && options->json.path.empty()) return Exit::fine;
        const auto schemas =
            schemas_of(loader::discover(manifests_only(), machine::this_host(machine::Look::cpu_only)));
        write_json(options->json, config::schema_json(&schemas));
        if (!markdown && !options->json.on_stdout()) config::write_schema(std::cout, &schemas);
        return Exit::fine;
    };
}

}  // namespace switchyard::cli
