#include "core/kernel/runtime/plugin_library.h"

#include <array>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <boost/dll/shared_library.hpp>

#include "core/kernel/base/log.h"
#include "core/kernel/base/stdout_redirect.h"
#include "core/kernel/loader/descriptor_check.h"
#include "core/kernel/loader/exposed_file.h"
#include "core/kernel/loader/stable_tier.h"
#include "core/kernel/machine/dlopen_error.h"
#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/services.h"
#include "core/kernel/runtime/stable/stable_plugin.h"
#include "core/kernel/runtime/stable/stable_services.h"

namespace switchyard::runtime {

namespace {

constexpr const char* descriptor_symbol = "switchyard_plugin_v1";

// Boost.DLL puts the loader's words between these.
std::string loader_message(const std::string& text) {
    constexpr std::string_view begin = "(dlerror system message: ";
    const auto at = text.find(begin);
    const auto end = text.rfind(')');
    if (at == std::string::npos || end == std::string::npos || end < at + begin.size()) return text;
    return text.substr(at + begin.size(), end - at - begin.size());
}

loader::GateOutcome open_library(const std::string& path, const char* symbol,
                                 boost::dll::shared_library& library) {
    using boost::dll::load_mode::rtld_local;
    using boost::dll::load_mode::rtld_now;
    const std::string hint =
        "look at its static objects and constructor functions, which run when it is loaded";
    try {
        const auto error = guarded({path.c_str(), "", "load"}, [&]() -> std::optional<machine::LoadError> {
            try {
                library.load(path, rtld_now | rtld_local);
                return std::nullopt;
            } catch (const boost::system::system_error& error) {
                return machine::explain_dlopen_error(path, loader_message(error.what()));
            }
        });
        if (error) return loader::refused(loader::Gate::load, error->reason, {}, {}, error->hint);
    } catch (const PluginError& error) {
        return loader::refused(loader::Gate::load, error.text, {}, {}, hint);
    }
    if (library.has(symbol)) return loader::passed(loader::Gate::load);
    return loader::refused(loader::Gate::load, "exports no symbol " + std::string(symbol), {}, {},
                           "build it with switchyard_add_plugin");
}

// `init` returns its status and what it says about it.
template <class Init>
loader::GateOutcome initialize(const std::string& plugin, Init&& init) {
    try {
        const std::pair<int, std::string> answer = guarded({plugin.c_str(), "", "init"}, init);
        if (answer.first == 0) return loader::passed(loader::Gate::init);
        return loader::refused(loader::Gate::init, answer.second.empty()
                                                       ? "its init returned " + std::to_string(answer.first)
                                                       : answer.second);
    } catch (const PluginError& thrown) {
        return loader::refused(loader::Gate::init, "its init threw: " + thrown.text, {}, {},
                               "report it to the plugin's vendor");
    }
}

loader::GateOutcome initialize(const SwitchyardPlugin& descriptor, const std::string& plugin) {
    if (descriptor.init == nullptr) return loader::passed(loader::Gate::init);
    return initialize(plugin, [&] {
        std::array<char, 512> error{};
        const int result =
            descriptor.init(services(), error.data(), static_cast<std::uint32_t>(error.size()));
        error.back() = '\0';
        return std::pair(result, std::string(error.data()));
    });
}

// Once for each library, which is asked for at every question to a component, and once for each text: those
// of one folder may all be told by the folder.
void tell_if_exposed(const std::string& path) {
    static std::mutex mutex;
    static auto& looked_at = *new std::set<std::string>;
    static auto& told = *new std::set<std::string>;
    const std::lock_guard lock(mutex);
    if (!looked_at.insert(path).second) return;
    const auto why = loader::exposed_because(path);
    if (!why.empty() && told.insert(why).second) log::warning("plugins: " + why);
}

loader::GateOutcome initialize_stable(const SwitchyardStablePlugin& table, const std::string& plugin) {
    return initialize(plugin, [&] {
        const int result = table.init(stable::stable_services());
        return std::pair(result, stable::take_call_error());
    });
}

const SwitchyardPlugin* stable_descriptor(const SwitchyardStablePlugin& table,
                                          const loader::Manifest& manifest, loader::GateOutcome& outcome) {
    const SwitchyardPlugin* const descriptor = stable::descriptor_of(table, manifest);
    if (descriptor == nullptr) {
        const std::string most = std::to_string(stable::most_components);
        outcome = loader::refused(
            loader::Gate::init,
            "this program has room for " + most + " components of the stable tier, which are taken", {}, {},
            "leave plugins out of plugins.paths");
    }
    return descriptor;
}

LoadedPlugin load_now(const std::string& path, const loader::Manifest& manifest, const EnterGate& enter) {
    LoadedPlugin plugin;
    const auto pass = [&](loader::GateOutcome outcome) {
        plugin.gates.push_back(std::move(outcome));
        return plugin.gates.back().passed;
    };
    enter(loader::Gate::load);
    // Never destroyed: a library stays until the process ends.
    static auto& libraries = *new std::list<boost::dll::shared_library>;
    auto& library = libraries.emplace_back();
    if (manifest.tier == loader::Tier::stable) {
        // Again, for one who did not find the plugin by discovery: nothing of it has run yet.
        loader::GateOutcome stable = loader::stable_gate(manifest, {}, path);
        stable.gate = loader::Gate::load;
        if (!stable.passed && !pass(std::move(stable))) return plugin;
        if (!pass(open_library(path, loader::stable_symbol, library))) return plugin;
        enter(loader::Gate::descriptor);
        const auto& table = library.get<const SwitchyardStablePlugin>(loader::stable_symbol);
        if (!pass(loader::check_stable_descriptor(table, manifest))) return plugin;
        enter(loader::Gate::init);
        if (pass(initialize_stable(table, manifest.name)))
            plugin.descriptor = stable_descriptor(table, manifest, plugin.gates.back());
        return plugin;
    }
    if (!pass(open_library(path, descriptor_symbol, library))) return plugin;
    enter(loader::Gate::descriptor);
    const auto& descriptor = library.get<const SwitchyardPlugin>(descriptor_symbol);
    if (!pass(loader::check_descriptor(descriptor, manifest))) return plugin;
    enter(loader::Gate::init);
    if (pass(initialize(descriptor, manifest.name))) plugin.descriptor = &descriptor;
    return plugin;
}

}  // namespace

LoadedPlugin load_plugin(const std::string& path, const loader::Manifest& manifest, const EnterGate& enter) {
    static std::mutex mutex;
    static auto& known = *new std::map<std::string, LoadedPlugin>;
    const std::lock_guard lock(mutex);
    const auto found = known.find(path);
    if (found != known.end()) return found->second;
    const base::StdoutRedirect aside;
    return known[path] = load_now(
               path, manifest, enter ? enter : [](loader::Gate) {});
}

Registry::Registry(std::vector<loader::PluginRecord> records) : records_(std::move(records)) {}

const loader::PluginRecord* Registry::find(std::string_view plugin) const {
    const std::lock_guard lock(mutex_);
    return record_of(plugin);
}

const loader::PluginRecord* Registry::record_of(std::string_view plugin) const {
    const loader::PluginRecord* unusable = nullptr;
    for (const loader::PluginRecord& record : records_) {
        if (!record.manifest || record.manifest->name != plugin) continue;
        if (record.usable()) return &record;
        if (unusable == nullptr) unusable = &record;
    }
    return unusable;
}

const SwitchyardPlugin* Registry::descriptor_of(const loader::PluginRecord& wanted) {
    const auto index = static_cast<std::size_t>(&wanted - records_.data());
    loader::PluginRecord& record = records_.at(index);
    if (!record.usable()) return nullptr;
    tell_if_exposed(record.path);
    const LoadedPlugin plugin = load_plugin(record.path, *record.manifest);
    if (record.gates.back().gate < loader::Gate::load)
        record.gates.insert(record.gates.end(), plugin.gates.begin(), plugin.gates.end());
    return plugin.descriptor;
}

std::vector<LoadedComponent> Registry::load(const loader::PluginRecord& record) {
    const std::lock_guard lock(mutex_);
    const auto* descriptor = descriptor_of(record);
    std::vector<LoadedComponent> components;
    for (std::size_t i = 0; descriptor != nullptr && i < record.manifest->components.size(); ++i) {
        components.push_back(
            {record.manifest->name, &record.manifest->components[i], descriptor->components[i], record.path});
    }
    return components;
}

std::optional<LoadedComponent> Registry::find(Kind kind, std::string_view plugin, std::string_view id) {
    const std::lock_guard lock(mutex_);
    const loader::PluginRecord* record = record_of(plugin);
    const auto* component = record == nullptr ? nullptr : record->manifest->find(kind, id);
    const auto* descriptor = component == nullptr ? nullptr : descriptor_of(*record);
    if (descriptor == nullptr) return std::nullopt;
    const auto index = component - record->manifest->components.data();
    return LoadedComponent{record->manifest->name, component, descriptor->components[index], record->path};
}

}  // namespace switchyard::runtime
