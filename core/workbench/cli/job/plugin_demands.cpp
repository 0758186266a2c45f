#include "core/workbench/cli/job/plugin_demands.h"

#include <filesystem>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {

namespace {

namespace fs = std::filesystem;

// A problem of a file, told at the key that names it.
Failure at_key(const config::Config& config, const char* key, std::string problem) {
    if (!config.origins.contains(key)) return Failure(problem);
    constexpr std::string_view sign = ": error: ";
    if (const auto at = problem.find(sign); at != std::string::npos) problem.replace(at, sign.size(), ": ");
    return Failure(config::told_at(config, key) + problem);
}

}  // namespace

std::string lock_file_of(const config::Config& config, const std::string& config_file) {
    if (!config.plugins.lock.empty()) return config.plugins.lock;
    std::error_code error;
    const auto file = fs::absolute(fs::path(config_file).parent_path() / "plugins.lock", error);
    return error ? "plugins.lock" : file.lexically_normal().string();
}

trust::Demands demands_of(const config::Config& config, const std::string& config_file, bool locked) {
    trust::Demands demands;
    demands.require = config.plugins.require;
    if (locked && !config.plugins.requires_of(config::Demand::lock))
        demands.require.push_back(config::Demand::lock);
    demands.device = config.run.device;
    demands.cache = machine::standard_cache_folder();
    try {
        demands.keys = trust::trusted_keys(config.plugins.trusted_keys);
    } catch (const base::InputError& problem) {
        throw at_key(config, "plugins.trusted_keys", problem.what());
    }
    if (locked || config.plugins.requires_of(config::Demand::lock)) {
        try {
            demands.lock = std::make_shared<const trust::PluginLock>(
                trust::read_lock(lock_file_of(config, config_file)));
        } catch (const base::InputError& problem) {
            throw at_key(config, "plugins.lock", problem.what());
        }
    }
    return demands;
}

trust::Demands no_demands() {
    trust::Demands demands;
    demands.keys = trust::trusted_keys({});
    demands.cache = machine::standard_cache_folder();
    return demands;
}

void refuse_other_plugins(const trust::PluginLock& lock, const std::vector<loader::PluginRecord>& records) {
    const auto lines = trust::differences(lock, records);
    if (lines.empty()) return;
    throw Failure(
        base::printable(lock.file) + ": error: --locked: " + counted(lines.size(), "plugin") +
        (lines.size() == 1 ? " differs" : " differ") + " from the lock\n    " + joined(lines, "\n    ") +
        "\nput back what was locked; or, if the change is wanted, `switchyard plugins lock` writes the "
        "file again");
}

}  // namespace switchyard::cli
