// Configurations that came with a run: what they say may have been written by somebody else, and naming a
// plugin or a program is naming code. It runs with --trust only (SECURITY.md).
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/arm_config.h"
#include "core/kernel/config/config.h"
#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

// Whether a configuration that was read from these files came with a run: the command was given a run, or one
// of them lies in the folder of one. Never where the user said --trust.
bool is_foreign(const JobOptions& options, const std::vector<std::string>& files);

// Throws Failure unless plugins.paths was given on the command line or names only places that the user's own
// settings name too: SWITCHYARD_PLUGIN_PATH, and where Switchyard keeps its plugins.
void refuse_foreign_plugins(const config::Config& config);

// Throws Failure unless plugins.trusted_keys was given on the command line or names only keys that the user
// trusts anyway.
void refuse_foreign_keys(const config::Config& config);

// Throws Failure if there is any: they name programs and, by what they set, plugins.
void refuse_foreign_arms(const std::vector<config::ArmConfig>& arms);

// Throws Failure if log.command names a program and was not given on the command line.
void refuse_foreign_log_command(const config::Config& config);

}  // namespace switchyard::cli
