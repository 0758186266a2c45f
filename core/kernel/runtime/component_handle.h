// A component owned by the core: made by its plugin's `create`, destroyed by its plugin's `destroy`, both
// under the guard.
#pragma once

#include <memory>
#include <string>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard::runtime {

struct LoadedComponent;  // plugin_library.h

// Calls the plugin's `destroy`. What that throws is logged: there is nobody to tell.
class Destroyer {
public:
    Destroyer() = default;
    Destroyer(std::string plugin, const SwitchyardComponent* entry)
        : plugin_(std::move(plugin)), entry_(entry) {}
    void operator()(void* component) const noexcept;

private:
    std::string plugin_;
    const SwitchyardComponent* entry_ = nullptr;
};

// Moves, does not copy; empty after a move.
template <class Interface>
class Handle {
public:
    Handle() = default;
    Handle(void* component, Destroyer destroyer) : component_(component, std::move(destroyer)) {}

    explicit operator bool() const { return component_ != nullptr; }
    Interface* get() const { return static_cast<Interface*>(component_.get()); }
    Interface* operator->() const { return get(); }
    Interface& operator*() const { return *get(); }

private:
    std::unique_ptr<void, Destroyer> component_;
};

// The pointer that the plugin's `create` returned, never nullptr. Throws PluginError; std::invalid_argument
// if the component is of another kind. `info` gets the core's services.
void* create_component(const LoadedComponent& loaded, Kind kind, CreateInfo info);
Destroyer destroyer_of(const LoadedComponent& loaded);

template <class Interface>
Handle<Interface> create(const LoadedComponent& loaded, CreateInfo info) {
    Destroyer destroyer =
        destroyer_of(loaded);  // first: it allocates, and nothing may throw once there is a component
    return Handle<Interface>(create_component(loaded, kind_of<Interface>, std::move(info)),
                             std::move(destroyer));
}

// Asks the component. Never throws on the plugin's behalf: what it throws becomes a Reason of Code::Internal
// that names it.
Verdict supports(const LoadedComponent& loaded, const Request& request, const HostInfo& host,
                 const Options& options, const std::string& variant);

}  // namespace switchyard::runtime
