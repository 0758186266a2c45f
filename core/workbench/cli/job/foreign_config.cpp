#include "core/workbench/cli/job/foreign_config.h"

#include <algorithm>
#include <filesystem>

#include "core/kernel/base/input_error.h"
#include "core/kernel/loader/search_path.h"
#include "core/kernel/trust/key_file.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

// What `train` leaves in a run's folder.
constexpr const char* marks[] = {"record.json", "plan.json", "metrics.jsonl", "checkpoints", "summary.json"};

bool holds_run(const fs::path& folder) {
    std::error_code error;
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](const char* mark) { return fs::exists(folder / mark, error); });
}

bool lies_in_run(const fs::path& file) {
    std::error_code error;
    const auto here = fs::absolute(file, error);
    const auto real = fs::canonical(file, error);
    return holds_run(here.parent_path()) || (!error && holds_run(real.parent_path()));
}

// Written in a file, not on the command line.
bool comes_from_file(const config::Config& config, const char* key) {
    const auto origin = config.origins.find(key);
    return origin != config.origins.end() && origin->second.source != config::Origin::Source::override;
}

// A folder that they name, a library that they name, or one of a folder that they name.
bool in_own_settings(const std::string& place) {
    const auto own = loader::standard_search_path();
    return std::any_of(own.entries.begin(), own.entries.end(), [&](const loader::SearchEntry& entry) {
        std::error_code error;
        if (fs::equivalent(place, entry.path, error)) return true;
        const auto real = fs::canonical(place, error);
        return !error && fs::is_regular_file(real, error) &&
               fs::equivalent(real.parent_path(), entry.path, error);
    });
}

}  // namespace

bool is_foreign(const JobOptions& options, const std::vector<std::string>& files) {
    if (options.trust) return false;
    return options.of_run || std::any_of(files.begin(), files.end(), lies_in_run);
}

void refuse_foreign_plugins(const config::Config& config) {
    if (!comes_from_file(config, "plugins.paths")) return;
    auto places = config.plugins.paths;
    std::erase_if(places, in_own_settings);
    if (places.empty()) return;
    throw Failure(config.where("plugins.paths") + ": error: plugins.paths: the plugins of " + joined(places) +
                  " are code, and this configuration came with a run\n--trust lets them run, if you trust "
                  "whoever made the run; a folder in SWITCHYARD_PLUGIN_PATH is always trusted");
}

void refuse_foreign_keys(const config::Config& config) {
    if (!comes_from_file(config, "plugins.trusted_keys")) return;
    const auto own = trust::trusted_keys({});
    auto files = config.plugins.trusted_keys;
    std::erase_if(files, [&](const std::string& file) {
        try {
            return own.find(trust::fingerprint(trust::read_public_key(file))) != nullptr;
        } catch (const base::InputError&) {
            return false;
        }
    });
    if (files.empty()) return;
    throw Failure(config.where("plugins.trusted_keys") + ": error: plugins.trusted_keys: who trusts " +
                  joined(files) +
                  " lets its owner vouch for code, and this configuration came with a run\n"
                  "--trust trusts them, if you trust whoever made the run; keys in " +
                  trust::trusted_key_folder() + " are always trusted");
}

void refuse_foreign_arms(const std::vector<config::ArmConfig>& arms) {
    if (arms.empty()) return;
    const auto& arm = arms.front();
    const auto what = arm.program.empty() ? "sets " + joined(arm.set) : "runs " + joined(arm.program, " ");
    throw Failure(config::to_string(arm.origin) + ": error: [[arm]]: it " + what +
                  ", which may be code, and this configuration came with a run\n--trust lets it run, if you "
                  "trust whoever made the run; with --arm and --vary you define arms yourself");
}

void refuse_foreign_log_command(const config::Config& config) {
    if (config.log.command.empty() || !comes_from_file(config, "log.command")) return;
    throw Failure(
        config.where("log.command") + ": error: log.command: it runs " + joined(config.log.command, " ") +
        ", and this configuration came with a run\n--trust lets it run, if you trust whoever made the "
        "run; --set log.command=[] leaves it out");
}

}  // namespace switchyard::cli
