// switchyard config check CONFIG
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/base/problem_lines.h"
#include "core/kernel/config/show.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/start_check.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/plugins_text.h"

namespace switchyard::cli {
namespace {

std::string told_in_part(const std::vector<std::string>& problems) {
    const auto text = base::problem_lines(problems) + "\n";
    return problems.size() > 1 ? text + counted(problems.size(), "error") + "\n" : text;
}

// What training would come upon, or what somebody else's machine may have.
void note(const Job& job, const HostInfo& host) {
    const auto& config = job.config;
    const auto noted = [&](const char* key, const std::string& text) {
        std::cerr << ("note: " + config.where(key) + ": " + key + ": " + text + "\n");
    };
    std::cerr << refused_libraries(job.records);
    for (const auto& disabled : config.plugins.disabled) {
        const bool found = std::any_of(job.records.begin(), job.records.end(), [&](const auto& record) {
            return record.manifest && record.manifest->name == disabled;
        });
        if (!found) noted("plugins.disabled", "found no plugin called " + base::quoted(disabled));
    }
    if (config.run.device != Device::cpu && host.first(config.run.device) == nullptr)
        noted("run.device", "this host has no " + std::string(name(config.run.device)) +
                                " device: `switchyard plan --host` plans for one that has");
    if (!config.data.given())
        std::cerr << "note: data.train names no file: the configuration can be planned and timed, but not "
                     "trained\n";
}

}  // namespace

Action setup_config_check(CLI::App& command) {
    const auto options = std::make_shared<JobOptions>();
    add_job_options(command, *options);
    return [options] {
        const auto job = load_job_by_manifests(*options);
        const auto problems = start_problems(job);
        if (!problems.empty()) throw Failure(told_in_part(problems));
        note(job, machine::this_host(machine::Look::with_devices));
        std::cout << base::printable(options->config) << ": no mistakes ("
                  << counted(job.files.size(), "file") << " read, fingerprint "
                  << config::fingerprint(job.config) << ")\n";
        return Exit::fine;
    };
}

}  // namespace switchyard::cli
