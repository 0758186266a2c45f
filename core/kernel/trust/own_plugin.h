// Plugins that come with this program, and were built and tested with it.
#pragma once

#include <string>

namespace switchyard::trust {

// Whether one of them is called so.
bool is_own_name(const std::string& name);

// Whether this library lies beside the program, in the folder of its own plugins, and is called as one of
// them: who can exchange it can exchange the program.
bool is_own_plugin(const std::string& library, const std::string& name);

// What proves a plugin for one version of the host, and not for another: "Switchyard 1.2.3, LibTorch 2.11.0".
std::string host_version();

}  // namespace switchyard::trust
