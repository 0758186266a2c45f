// A component without a plugin file: the table that a plugin would export, and what the host would know of it
// after loading.
#pragma once

#include <string>

#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::test {

// `Made` derives from Interface and is made from a CreateInfo.
template <class Interface, class Made>
class FakeComponent {
public:
    explicit FakeComponent(GradientMode gradient, std::string plugin = "fake", std::string id = "made") {
        manifest_.kind = kind_of<Interface>;
        manifest_.id = std::move(id);
        manifest_.gradient = gradient;
        entry_.struct_size = sizeof(SwitchyardComponent);
        entry_.kind = name(manifest_.kind).data();
        entry_.id = manifest_.id.c_str();
        entry_.create = [](const void* info) -> void* {
            return static_cast<Interface*>(new Made(*static_cast<const CreateInfo*>(info)));
        };
        entry_.destroy = [](void* component) { delete static_cast<Interface*>(component); };
        loaded_ = {std::move(plugin), &manifest_, &entry_, "/nowhere/libfake.so"};
    }
    FakeComponent(const FakeComponent&) = delete;
    FakeComponent& operator=(const FakeComponent&) = delete;

    ComponentManifest& manifest() { return manifest_; }
    SwitchyardComponent& entry() { return entry_; }
    const runtime::LoadedComponent& loaded() const { return loaded_; }

private:
    ComponentManifest manifest_;
    SwitchyardComponent entry_{};
    runtime::LoadedComponent loaded_;
};

}  // namespace switchyard::test
