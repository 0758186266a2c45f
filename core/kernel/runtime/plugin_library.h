// The gates that need LibTorch: loading a plugin into this process, checking what it exports, init.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/plugin_abi.h>
#include "core/kernel/loader/plugin_record.h"

namespace switchyard::runtime {

// A component that can be called. All pointers are valid as long as the Registry.
struct LoadedComponent {
    std::string plugin;
    const ComponentManifest* manifest = nullptr;
    const SwitchyardComponent* entry = nullptr;
    std::string library_path;
};

// Holds what discovery found and loads a plugin when one of its components is first asked for. A library
// stays loaded until the process ends, whatever becomes of the Registry: autograd nodes, thread locals and
// static tensors cannot be unloaded safely. Finding and loading are thread-safe; loading appends the outcomes
// of its gates to records(), which nobody may read meanwhile: one thread makes plans.
class Registry {
public:
    explicit Registry(std::vector<loader::PluginRecord> records);
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    const std::vector<loader::PluginRecord>& records() const { return records_; }
    // By name, usable or not; nullptr if there is none.
    const loader::PluginRecord* find(std::string_view plugin) const;

    // The components of one of `records()`, in the order of its manifest. Empty if a gate was not passed:
    // record.failure() says which.
    std::vector<LoadedComponent> load(const loader::PluginRecord& record);

    // Loads the plugin if need be. nullopt: no such plugin or component, or it is not usable.
    std::optional<LoadedComponent> find(Kind kind, std::string_view plugin, std::string_view id);

private:
    // Both where mutex_ is held. nullptr: there is none, or a gate was not passed.
    const loader::PluginRecord* record_of(std::string_view plugin) const;
    const SwitchyardPlugin* descriptor_of(const loader::PluginRecord& record);

    mutable std::mutex mutex_;
    std::vector<loader::PluginRecord> records_;
};

struct LoadedPlugin {
    const SwitchyardPlugin* descriptor = nullptr;  // nullptr if a gate was not passed
    std::vector<loader::GateOutcome> gates;        // load, descriptor, init, as far as it got
};

// Told before each gate is tried, for one who must know where a crash was.
using EnterGate = std::function<void(loader::Gate)>;

// The same for one library and its manifest: what Registry and the probe program do. Called again for the
// same path, it gives the same answer without doing anything.
LoadedPlugin load_plugin(const std::string& path, const loader::Manifest& manifest,
                         const EnterGate& enter = {});

}  // namespace switchyard::runtime
