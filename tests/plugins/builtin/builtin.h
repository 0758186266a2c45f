// The plugins naive and torch as this build made them, loaded through the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/verdict.h>
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/kernel/runtime/services.h"

namespace switchyard::test {

// Throws std::runtime_error with the gate's reason if the plugin can't be loaded.
runtime::LoadedComponent component(Kind kind, const std::string& plugin, const std::string& id);

// All components of all plugins.
std::vector<runtime::LoadedComponent> all_components();

// Whether it serves no CPU unless an option asks for that.
bool needs_a_device(const runtime::LoadedComponent& loaded);

// A host with two cores of this CPU, and one that also has a described H100.
const HostInfo& laptop();
const HostInfo& h100();

// The component's options with their defaults.
Options default_options(const runtime::LoadedComponent& loaded);

// "field: expected X, got Y" for every reason, one a line; "" if the request is served.
std::string refusals(const runtime::LoadedComponent& loaded, const Request& request,
                     const HostInfo& host = laptop(), const std::string& variant = "",
                     const Options& changed = {});

// A component with its executions counted.
template <class Interface>
struct Made {
    std::unique_ptr<runtime::ExecutionCounter> counter;
    runtime::Handle<Interface> handle;
    Interface* operator->() const { return handle.get(); }
    Interface& operator*() const { return *handle; }
};

// `request` and `host` outlive it.
template <class Interface>
Made<Interface> make(const std::string& plugin, const std::string& id, const Request& request,
                     const std::string& variant = "", const Options& changed = {},
                     const HostInfo& host = laptop()) {
    const auto loaded = component(kind_of<Interface>, plugin, id);
    Made<Interface> made;
    made.counter = std::make_unique<runtime::ExecutionCounter>();
    CreateInfo info;
    info.request = &request;
    info.variant = variant;
    info.options = default_options(loaded);
    for (const auto& [name, value] : changed.values()) info.options.set(name, value);
    info.host = &host;
    info.services = runtime::services();
    info.token = made.counter.get();
    made.handle = runtime::create<Interface>(loaded, info);
    return made;
}

}  // namespace switchyard::test
