// Plugins of this build as a registry takes them, and a host to plan for that is the same on every machine.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/loader/plugin_record.h"

namespace switchyard::test {

// A host of so many cores of this CPU, without a device.
HostInfo host_of(int cores);

// The plugins of these names and no others, judged without being probed.
std::vector<loader::PluginRecord> built_plugins(const std::vector<std::string>& names, const HostInfo& host);

}  // namespace switchyard::test
