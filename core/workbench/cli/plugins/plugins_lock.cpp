// switchyard plugins lock [CONFIG]: which plugins a job uses, by content.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/trust/plugin_lock.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/job/plugin_demands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

struct LockOptions {
    JobOptions job;
    std::string output;
};

// What the lock itself demands does not count while it is written.
JobOptions without_lock(const JobOptions& options) {
    auto job = options;
    const auto config = first_look(options);
    if (!config || !config->plugins.requires_of(config::Demand::lock)) return job;
    std::vector<std::string> others;
    for (const auto demand : config->plugins.require) {
        if (demand != config::Demand::lock) others.push_back('"' + std::string(name(demand)) + '"');
    }
    job.overrides.push_back("plugins.require=[" + joined(others) + "]");
    return job;
}

trust::PluginLock lock_of_job(const LockOptions& options) {
    const auto planned = plan_job(without_lock(options.job));
    trust::PluginLock lock;
    planned->plan.for_each_row([&](const resolver::PlanRow& row) {
        if (!row.chosen || lock.find(row.chosen->plugin) != nullptr) return;
        lock.plugins.push_back(trust::locked_as(*planned->registry->find(row.chosen->plugin)));
    });
    return lock;
}

trust::PluginLock lock_of_all() {
    const loader::DiscoveryOptions discovery;
    trust::PluginLock lock;
    for (const auto& record : loader::discover(discovery, machine::this_host(machine::Look::cpu_only))) {
        if (record.usable()) lock.plugins.push_back(trust::locked_as(record));
    }
    if (lock.plugins.empty())
        throw Failure("no plugin that can be used was found; `switchyard plugins doctor` says why\n" +
                      searched_places(discovery.path));
    return lock;
}

std::string output_of(const LockOptions& options) {
    if (!options.output.empty()) return options.output;
    if (options.job.config.empty()) return "plugins.lock";
    const auto config = first_look(options.job);
    return lock_file_of(config ? *config : config::Config{}, options.job.config);
}

int lock(const LockOptions& options) {
    if (options.job.config.empty() && !options.job.overrides.empty())
        throw Failure("--set: is for a configuration; expected CONFIG before it");
    const auto made = options.job.config.empty() ? lock_of_all() : lock_of_job(options);
    const auto output = output_of(options);
    write_file(output, trust::to_toml(made));
    std::vector<std::string> names;
    for (const auto& plugin : made.plugins) names.push_back(plugin.name + " " + plugin.version);
    std::sort(names.begin(), names.end());
    std::cout << counted(names.size(), "plugin") << " locked in " << base::printable(output) << ": "
              << base::printable(joined(names)) << '\n';
    return Exit::fine;
}

}  // namespace

Action setup_plugins_lock(CLI::App& command) {
    const auto options = std::make_shared<LockOptions>();
    add_job_options(command, options->job);
    command.get_option("CONFIG")->required(false)->description(
        "TOML file, whose plan's plugins are locked; without it all that are found");
    command
        .add_option("--output", options->output,
                    "file to write; default: the file that the key plugins.lock names, or else the file "
                    "plugins.lock beside CONFIG")
        ->check(output_file())
        ->type_name("FILE");
    return [options] { return lock(*options); };
}

}  // namespace switchyard::cli
