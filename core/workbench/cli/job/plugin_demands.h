// What a configuration and the user's own settings demand of plugins.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/trust/judge.h"

namespace switchyard::cli {

// The file that the key plugins.lock names, or else plugins.lock beside the configuration's file; without one
// in the current folder.
std::string lock_file_of(const config::Config& config, const std::string& config_file);

// `locked`: the lock is demanded even if plugins.require does not. Throws Failure where a key or the lock
// cannot be read.
trust::Demands demands_of(const config::Config& config, const std::string& config_file, bool locked);

// Of commands that have no configuration: nothing is demanded, and the user's own keys are trusted.
trust::Demands no_demands();

// Throws Failure with all plugins of the lock that are not there as they were locked.
void refuse_other_plugins(const trust::PluginLock& lock, const std::vector<loader::PluginRecord>& records);

}  // namespace switchyard::cli
