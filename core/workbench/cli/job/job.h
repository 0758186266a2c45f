// What most commands begin with: a configuration, and the plugins that it may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/config/load.h"
#include "core/kernel/loader/discovery.h"
#include "core/kernel/loader/plugin_record.h"

namespace CLI {
class App;
}

namespace switchyard::cli {

// CONFIG, --set KEY=VALUE, --trust.
struct JobOptions {
    std::string config;
    std::vector<std::string> overrides;
    std::vector<config::Implied> implied = {};  // by other arguments, before the overrides
    bool trust = false;       // what the configuration names may run although it came with a run
    bool of_run = false;      // it did, wherever its files lie
    bool fits_batch = false;  // batch.size = "fit" is understood: the size will be looked for
    bool locked = false;      // --locked
};
void add_job_options(CLI::App& command, JobOptions& options);
// --locked: only plugins as they are in the lock.
void add_locked(CLI::App& command, JobOptions& options);
// Without CONFIG; `help` says what is set.
void add_overrides(CLI::App& command, JobOptions& options, const std::string& help);

struct Job {
    config::Config config;
    std::vector<loader::PluginRecord> records;
    std::vector<std::string> files;  // that the configuration was read from
};

// Throws Failure with every problem of the configuration, and before any plugin runs that it must not name
// (foreign_config.h). `discovery`: its path and list of disabled plugins are replaced by the configuration's.
Job load_job(const JobOptions& options, const HostInfo& host, loader::DiscoveryOptions discovery = {});
// Lengths of random samples mean nothing where there is data: throws Failure.
void refuse_lengths_of_data(const config::Config& config, const std::string& lengths);
// Texts that a user gives may be shorter than batch.min_length of an override: throws Failure.
void refuse_min_length(const config::Config& config);
// What the files say, before plugins are asked for their options; nothing where there is a mistake.
std::optional<config::Config> first_look(const JobOptions& options);
// For commands that only ask what plugins say of themselves: nothing of a plugin runs, its manifest is
// enough.
loader::DiscoveryOptions manifests_only();
Job load_job_by_manifests(const JobOptions& options);

// Options that the components of these plugins declare, under the component's id, or "plugin/id" where
// several plugins have that id.
config::OptionSchemas schemas_of(const std::vector<loader::PluginRecord>& records);

// Where presets are.
std::vector<std::string> preset_dirs();

// "looked in:" and the search path with what is there, a line for each entry.
std::string searched_places(const loader::SearchPath& path);

}  // namespace switchyard::cli
