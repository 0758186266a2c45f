// The C++ source that gives a plugin the structure that it exports and its section `switchyard_manifest`.
#pragma once

#include <string>

#include "core/kernel/loader/manifest_tool/plugin_toml.h"

namespace switchyard::loader {

// `libraries`: the fingerprint's lines about LibTorch's build ids, each with its newline.
std::string generate_source(const PluginToml& plugin, const std::string& libraries);

}  // namespace switchyard::loader
