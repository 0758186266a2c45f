#include "core/workbench/cli/job/job.h"
#include "core/kernel/base/shell_text.h"

#include <map>
#include <set>

#include <CLI/CLI.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/job/foreign_config.h"
#include "core/workbench/cli/job/plugin_demands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/model/weights/huggingface_config.h"

namespace switchyard::cli {
namespace {

config::LoadResult load(const JobOptions& options, const config::OptionSchemas* schemas) {
    config::LoadRequest request;
    request.path = options.config;
    request.recorded = options.of_run;
    request.implied = options.implied;
    request.overrides = options.overrides;
    request.preset_dirs = preset_dirs();
    request.read_model_folder = model::read_model_folder;
    request.schemas = schemas;
    return config::load(request);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& options) {
    command.add_option("CONFIG", options.config, "TOML file")->required()->type_name("");
    add_overrides(command, options, "set one value, as in --set optimizer.lr=3e-4; may be repeated");
}

void add_overrides(CLI::App& command, JobOptions& options, const std::string& help) {
    command.add_option("--set", options.overrides, help)
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    command.add_flag("--trust", options.trust,
                     "run the plugins and programs that the configuration names, even if it came with a run");
}

void add_locked(CLI::App& command, JobOptions& options) {
    command.add_flag(
        "--locked", options.locked,
        "only with plugins as they are in the lock that `switchyard plugins lock` wrote: the file "
        "that the key plugins.lock names, or else the file plugins.lock beside CONFIG");
}

std::vector<std::string> preset_dirs() {
    std::vector<std::string> dirs;
    const auto ours = machine::belonging_path("share/switchyard/configs/presets");
    if (!ours.empty()) dirs.push_back(ours);
    return dirs;
}

config::OptionSchemas schemas_of(const std::vector<loader::PluginRecord>& records) {
    std::map<std::pair<Kind, std::string>, std::set<std::string>> plugins;
    for (const auto& record : records) {
        if (!record.manifest) continue;
        for (const auto& component : record.manifest->components)
            plugins[{component.kind, component.id}].insert(record.manifest->name);
    }
    config::OptionSchemas schemas;
    for (const auto& record : records) {
        if (!record.manifest) continue;
        for (const auto& component : record.manifest->components) {
            const bool unique = plugins[{component.kind, component.id}].size() == 1;
            const auto full_name = record.manifest->name + "/" + component.id;
            schemas.emplace(std::pair(component.kind, unique ? component.id : full_name),
                            config::ComponentSchema{full_name, component.options});
        }
    }
    return schemas;
}

Job load_job(const JobOptions& options, const HostInfo& host, loader::DiscoveryOptions discovery) {
    // Which options there are is known to the plugins, and which plugins there are to the configuration.
    const auto first = load(options, nullptr);
    trust::Demands demands;
    if (first.config) {
        if (discovery.run_probes && is_foreign(options, first.files)) {
            refuse_foreign_plugins(*first.config);
            refuse_foreign_keys(*first.config);
        }
        discovery.path = loader::standard_search_path(first.config->plugins.paths);
        discovery.disabled = first.config->plugins.disabled;
        demands = demands_of(*first.config, options.config, options.locked);
        discovery.judge = [&](loader::PluginRecord& record) { return trust::judge(demands, record); };
    } else {
        // What it demands of plugins is not known: none runs, and what options there are the manifests say.
        discovery.run_probes = false;
    }
    Job job;
    job.records = loader::discover(discovery, host);
    const auto schemas = schemas_of(job.records);
    auto result = load(options, &schemas);
    if (const auto& problems = result.config ? first.problems : result.problems; !problems.empty()) {
        auto text = config::render(problems);
        if (problems.size() > 1) text += counted(problems.size(), "error") + "\n";
        throw Failure(text);
    }
    job.config = std::move(*result.config);
    if (options.locked) refuse_other_plugins(*demands.lock, job.records);
    // What a run writes down names the lock wherever its record lies.
    if (job.config.plugins.requires_of(config::Demand::lock)) job.config.plugins.lock = demands.lock->file;
    if (job.config.batch.fit && !options.fits_batch && discovery.run_probes)
        throw Failure(
            config::told_at(job.config, "batch.size") +
            "\"fit\" is for train in one process, which looks for the size; expected a number here: "
            "`switchyard fit " +
            base::shell_word(options.config) + "` says which one fits, and --set batch.size=N sets it");
    job.files = std::move(result.files);
    return job;
}

void refuse_lengths_of_data(const config::Config& config, const std::string& lengths) {
    if (config.data.given() && !lengths.empty())
        throw Failure("--lengths is for random samples; the configuration has data.train");
}

void refuse_min_length(const config::Config& config) {
    if (config.batch.min_length <= 1) return;
    throw Failure("--set batch.min_length: error: is " + std::to_string(config.batch.min_length) +
                  ", and a text may be shorter; expected no such --set");
}

std::optional<config::Config> first_look(const JobOptions& options) {
    auto result = load(options, nullptr);
    return result.config ? std::optional(std::move(*result.config)) : std::nullopt;
}

std::string searched_places(const loader::SearchPath& path) {
    std::string text = "looked in:";
    for (const auto& finding : loader::scan(path)) {
        text += "\n    " + base::printable(finding.entry.path) + " (" + finding.entry.origin + "): ";
        text += !finding.error.empty() ? finding.error
                : !finding.exists      ? "does not exist"
                                       : counted(finding.libraries.size(), "library file");
    }
    return text;
}

loader::DiscoveryOptions manifests_only() {
    loader::DiscoveryOptions options;
    options.run_probes = false;
    return options;
}

Job load_job_by_manifests(const JobOptions& options) {
    return load_job(options, machine::this_host(machine::Look::cpu_only), manifests_only());
}

}  // namespace switchyard::cli
