#include "built_plugins.h"

#include "core/kernel/loader/discovery.h"
#include "core/kernel/machine/host_info.h"

#include <switchyard_test.h>

namespace switchyard::test {

HostInfo host_of(int cores) {
    HostInfo made;
    made.cores = cores;
    // By which components choose how they compute.
    made.cpu_features = machine::this_host(machine::Look::cpu_only).cpu_features;
    return made;
}

std::vector<loader::PluginRecord> built_plugins(const std::vector<std::string>& names, const HostInfo& host) {
    loader::DiscoveryOptions options;
    options.run_probes = false;
    options.path.entries.clear();
    const auto folder = build_dir() / "lib/switchyard/plugins";
    for (const auto& name : names)
        options.path.entries.push_back({(folder / ("lib" + name + ".so")).string(), "test", true});
    return loader::discover(options, host);
}

}  // namespace switchyard::test
