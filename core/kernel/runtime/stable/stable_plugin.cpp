#include "core/kernel/runtime/stable/stable_plugin.h"

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/kernel/runtime/stable/adapters.h"
#include "core/kernel/runtime/stable/exchange.h"
#include "core/kernel/runtime/stable/stable_query.h"
#include "core/kernel/runtime/stable/stable_services.h"

namespace switchyard::runtime::stable {
namespace {

struct Slot {
    const SwitchyardStableComponent* entry = nullptr;
    Kind kind = Kind::normalization;
};

std::array<Slot, most_components> slots;
std::size_t slots_taken = 0;

void ask(const Slot& slot, const SwitchyardSupports& asked) {
    auto& verdict = *static_cast<Verdict*>(asked.verdict);
    const auto& request = *static_cast<const Request*>(asked.request);
    reject_unstable(slot.kind, request, verdict);
    if (!verdict.ok()) return;
    const StableQuery query(slot.kind, request, static_cast<const HostInfo*>(asked.host),
                            *static_cast<const Options*>(asked.options), asked.variant);
    const SwitchyardStableSupports call = query.supports(verdict);
    require_fine(slot.entry->supports(&call));
}

// The interface of the kind, as void*.
void* create(const Slot& slot, const CreateInfo& info) {
    switch (slot.kind) {
        case Kind::normalization:
            return new_normalization(*slot.entry, info);
        case Kind::linear:
            return new_linear(*slot.entry, info);
        case Kind::attention:
            return new_attention(*slot.entry, info);
        case Kind::optimizer:
            return new_optimizer(*slot.entry, info);
        default:
            throw std::invalid_argument("the stable tier has no " + std::string(name(slot.kind)));
    }
}

template <class Interface>
void destroy(void* component) {
    delete static_cast<Interface*>(component);
}

auto destroyer_for(Kind kind) -> void (*)(void*) {
    switch (kind) {
        case Kind::linear:
            return destroy<Linear>;
        case Kind::attention:
            return destroy<Attention>;
        case Kind::optimizer:
            return destroy<Optimizer>;
        default:
            return destroy<Normalization>;
    }
}

struct SlotFunctions {
    void (*supports)(const SwitchyardSupports*);
    void* (*create)(const void*);
};

template <std::size_t... index>
constexpr std::array<SlotFunctions, sizeof...(index)> functions_of(std::index_sequence<index...>) {
    return {SlotFunctions{[](const SwitchyardSupports* asked) { ask(slots[index], *asked); },
                          [](const void* info) -> void* {
                              return create(slots[index], *static_cast<const CreateInfo*>(info));
                          }}...};
}

constexpr auto slot_functions = functions_of(std::make_index_sequence<most_components>());

// A descriptor, and what it points to.
struct AdaptedPlugin {
    std::vector<SwitchyardComponent> components;
    std::vector<const SwitchyardComponent*> pointers;
    SwitchyardPlugin descriptor{};
};

}  // namespace

StableInstance::StableInstance(const SwitchyardStableComponent& entry, Kind kind, const CreateInfo& info)
    : entry_(entry), token_{info.services, info.token} {
    const StableQuery query(kind, *info.request, info.host, info.options, info.variant.c_str());
    SwitchyardStableCreate call = query.create(&token_);
    require_fine(entry_.create(&call));
    component_ = call.component;
}

const SwitchyardPlugin* descriptor_of(const SwitchyardStablePlugin& plugin,
                                      const loader::Manifest& manifest) {
    const std::size_t count = manifest.components.size();
    if (count > most_components - slots_taken) return nullptr;
    auto& made = *new AdaptedPlugin;
    for (std::size_t i = 0; i < count; ++i) {
        const SwitchyardStableComponent& entry = *plugin.components[i];
        const Kind kind = manifest.components[i].kind;
        slots[slots_taken] = {&entry, kind};
        const SlotFunctions& functions = slot_functions[slots_taken++];
        made.components.push_back({.struct_size = sizeof(SwitchyardComponent),
                                   .kind = entry.kind,
                                   .id = entry.id,
                                   .supports = functions.supports,
                                   .create = functions.create,
                                   .destroy = destroyer_for(kind)});
    }
    for (const SwitchyardComponent& component : made.components) made.pointers.push_back(&component);
    made.descriptor = {.magic = SWITCHYARD_PLUGIN_MAGIC,
                       .struct_size = sizeof(SwitchyardPlugin),
                       .abi_major = SWITCHYARD_ABI_MAJOR,
                       .abi_minor = SWITCHYARD_ABI_MINOR,
                       .component_count = static_cast<std::uint32_t>(count),
                       .components = made.pointers.data(),
                       .init = nullptr};
    return &made.descriptor;
}

}  // namespace switchyard::runtime::stable
