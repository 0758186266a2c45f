// The lock of plugins: which plugins a job may use, by content. `switchyard plugins lock` writes it,
// `plugins.require = "locked"` and `--locked` go by it. TOML, sorted by name, with nothing in it that depends
// on where or when it was written:
//
//     switchyard_plugins_lock = 1
//
//     [[plugin]]
//     name = "gemm"
//     version = "0.1.0"
//     sha256 = "0123..."
//     cuda_sha256 = "4567..."   # of its library for CUDA, where there is one
//     abi = "1.0"
//     layout = "89ab..."        # digest of what crosses the boundary, as the plugin was built
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/trust/plugin_content.h"

namespace switchyard::trust {

struct LockedPlugin {
    std::string name, version;
    PluginContent content;
    std::string abi, layout;
};

struct PluginLock {
    std::vector<LockedPlugin> plugins;  // by name
    std::string file;                   // that it was read from

    const LockedPlugin* find(std::string_view name) const;
};

// Of a plugin whose manifest was read; throws InputError if its libraries cannot be read.
LockedPlugin locked_as(const loader::PluginRecord& record);

std::string to_toml(PluginLock lock);
// Throws InputError with every mistake in it.
PluginLock parse_lock(const std::string& text, const std::string& file);
PluginLock read_lock(const std::string& file);

// In the words of a gate; nothing if the plugin is as it was locked.
std::optional<loader::GateOutcome> difference(const PluginLock& lock, const loader::PluginRecord& record);

// What of the lock is not there as it was locked, a line each.
std::vector<std::string> differences(const PluginLock& lock, const std::vector<loader::PluginRecord>& found);

}  // namespace switchyard::trust
