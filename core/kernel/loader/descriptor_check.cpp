#include "core/kernel/loader/descriptor_check.h"

namespace switchyard::loader {

namespace {

GateOutcome wrong(std::string reason, std::string expected, std::string got) {
    return refused(Gate::descriptor, std::move(reason), std::move(expected), std::move(got),
                   "build it again with switchyard_add_plugin");
}

std::string version(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

std::string title(std::string_view kind, std::string_view id) {
    return std::string(kind).append(" '").append(id).append("'");
}

GateOutcome check_component(const SwitchyardComponent* entry, const ComponentManifest& component,
                            const std::string& where) {
    const std::string expected = title(name(component.kind), component.id);
    if (entry == nullptr) return wrong(where + " is a null pointer", expected, "null");
    if (entry->struct_size < sizeof(SwitchyardComponent)) {
        return wrong(where + " is smaller than this version of the interface has it",
                     std::to_string(sizeof(SwitchyardComponent)), std::to_string(entry->struct_size));
    }
    if (entry->kind == nullptr || entry->id == nullptr)
        return wrong(where + " lacks its kind or id", expected, "a null pointer");
    if (name(component.kind) != entry->kind || component.id != entry->id)
        return wrong(where + " is not the one that its manifest names", expected,
                     title(entry->kind, entry->id));
    if (entry->supports == nullptr || entry->create == nullptr || entry->destroy == nullptr)
        return wrong(where + " lacks supports, create or destroy", "three functions", "a null pointer");
    return passed(Gate::descriptor);
}

}  // namespace

GateOutcome check_descriptor(const SwitchyardPlugin& descriptor, const Manifest& manifest) {
    if (descriptor.magic != SWITCHYARD_PLUGIN_MAGIC) {
        return wrong("what it exports as switchyard_plugin_v1 is not a plugin's descriptor",
                     "SWYPLNV1 at its beginning", "something else");
    }
    if (descriptor.abi_major != SWITCHYARD_ABI_MAJOR || descriptor.abi_minor > SWITCHYARD_ABI_MINOR) {
        return wrong("its descriptor is of another version of the plugin interface",
                     version(SWITCHYARD_ABI_MAJOR, SWITCHYARD_ABI_MINOR),
                     version(descriptor.abi_major, descriptor.abi_minor));
    }
    if (descriptor.struct_size < sizeof(SwitchyardPlugin)) {
        return wrong("its descriptor is smaller than this version of the interface has it",
                     std::to_string(sizeof(SwitchyardPlugin)), std::to_string(descriptor.struct_size));
    }
    if (descriptor.component_count != manifest.components.size()) {
        return wrong("its descriptor has another number of components than its manifest",
                     std::to_string(manifest.components.size()), std::to_string(descriptor.component_count));
    }
    if (descriptor.components == nullptr)
        return wrong("its descriptor lacks its components", "a list", "a null pointer");
    for (std::size_t i = 0; i < manifest.components.size(); ++i) {
        GateOutcome outcome = check_component(descriptor.components[i], manifest.components[i],
                                              "component[" + std::to_string(i) + "]");
        if (!outcome.passed) return outcome;
    }
    return passed(Gate::descriptor);
}

}  // namespace switchyard::loader
