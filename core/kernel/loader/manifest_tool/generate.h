// The source that gives a plugin its section `switchyard_manifest`, and, but in the stable tier, the
// structure that it exports.
#pragma once

#include <string>

#include "core/kernel/loader/manifest_tool/plugin_toml.h"

namespace switchyard::loader {

// `libraries`: the fingerprint's lines about LibTorch's build ids, each with its newline.
std::string generate_source(const PluginToml& plugin, const std::string& libraries);

// Of a stable plugin: the section's bytes, and a C source that has them in it.
std::string stable_section(const PluginToml& plugin);
std::string generate_stable_source(const PluginToml& plugin);

}  // namespace switchyard::loader
