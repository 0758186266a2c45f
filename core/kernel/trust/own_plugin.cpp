#include "core/kernel/trust/own_plugin.h"

#include <filesystem>
#include <sstream>

#include "core/kernel/machine/program_paths.h"

namespace switchyard::trust {

namespace fs = std::filesystem;

bool is_own_name(const std::string& name) {
    std::istringstream own(SWITCHYARD_OWN_PLUGINS);
    for (std::string one; own >> one;) {
        if (one == name) return true;
    }
    return false;
}

bool is_own_plugin(const std::string& library, const std::string& name) {
    const auto folder = machine::belonging_path("lib/switchyard/plugins");
    std::error_code error;
    const auto real = fs::canonical(library, error);
    if (error || folder.empty() || !fs::equivalent(real.parent_path(), folder, error) || error) return false;
    return is_own_name(name);
}

std::string host_version() { return SWITCHYARD_HOST_VERSION; }

}  // namespace switchyard::trust
