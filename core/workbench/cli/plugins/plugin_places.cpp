#include "core/workbench/cli/plugins/plugin_places.h"

#include <filesystem>

#include "core/kernel/base/printable.h"
#include "core/kernel/loader/discovery.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {

namespace fs = std::filesystem;

std::vector<loader::PluginRecord> plugins_at(const std::string& place) {
    const auto named = base::printable(place);
    std::error_code error;
    if (!fs::exists(place, error))
        throw Failure(named +
                      ": error: there is no such file; expected a plugin's library, or a folder of them");
    loader::DiscoveryOptions discovery;
    discovery.run_probes = false;
    discovery.path.entries = {{fs::absolute(place, error).string(), "the command line", true}};
    auto records = loader::discover(discovery, machine::this_host(machine::Look::cpu_only));
    if (records.empty()) throw Failure(named + ": error: has no plugins; expected libraries that end in .so");
    std::string problems;
    for (const auto& record : records) problems += record.manifest ? "" : loader::explain(record) + "\n";
    if (problems.empty()) return records;
    problems.pop_back();
    throw Failure(problems);
}

}  // namespace switchyard::cli
