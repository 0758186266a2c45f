// Plugins at a place that a command line names, by their manifests alone: nothing of them runs.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/loader/plugin_record.h"

namespace switchyard::cli {

// A library, or all of a folder; throws Failure if there is none, or if one is no plugin.
std::vector<loader::PluginRecord> plugins_at(const std::string& place);

}  // namespace switchyard::cli
