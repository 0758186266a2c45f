#include "core/kernel/loader/stable_tier.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>

#include "core/kernel/loader/elf_image.h"
#include "core/kernel/machine/dlopen_error.h"

namespace switchyard::loader {

namespace {

constexpr std::size_t most_named = 3;  // symbols in a message

std::string stable_version(int major, int minor) {
    return std::to_string(major) + "." + std::to_string(minor);
}

std::string this_stable_version() {
    return stable_version(SWITCHYARD_STABLE_ABI_MAJOR, SWITCHYARD_STABLE_ABI_MINOR);
}

GateOutcome other_stable_version(int major, int minor) {
    const bool newer = major > SWITCHYARD_STABLE_ABI_MAJOR ||
                       (major == SWITCHYARD_STABLE_ABI_MAJOR && minor > SWITCHYARD_STABLE_ABI_MINOR);
    return refused(Gate::fingerprint,
                   "built for version " + stable_version(major, minor) +
                       " of Switchyard's stable interface, this program has " + this_stable_version(),
                   this_stable_version(), stable_version(major, minor),
                   newer ? "use a newer Switchyard, or build it with this program's SDK"
                         : "build it with this program's SDK");
}

GateOutcome needs_libtorch(const std::string& minimum, const std::string& there) {
    return refused(Gate::fingerprint, "needs LibTorch " + minimum + " or newer, this program has " + there,
                   minimum, there, "use a Switchyard with a newer LibTorch");
}

GateOutcome not_stable(const std::vector<std::string>& symbols) {
    std::string list;
    for (std::size_t i = 0; i < std::min(symbols.size(), most_named); ++i)
        list += (i == 0 ? "" : ", ") + symbols[i];
    if (symbols.size() > most_named) list += " and " + std::to_string(symbols.size() - most_named) + " more";
    return refused(Gate::fingerprint,
                   "says that it is of the stable tier, and needs what changes with each release: " + list,
                   "no C++ symbols of LibTorch or Switchyard", list,
                   "call LibTorch through its C functions (stable_tensor.h), or leave out tier = \"stable\"");
}

GateOutcome wrong_table(std::string reason, std::string expected, std::string got) {
    return refused(Gate::descriptor, std::move(reason), std::move(expected), std::move(got),
                   "fill in the table as stable_abi.h of this program has it");
}

std::string title_of(std::string_view kind, std::string_view id) {
    return std::string(kind).append(" '").append(id).append("'");
}

// The size of a kind's functions as version 1.0 has them, of which none may be missing.
std::size_t functions_size(Kind kind) {
    switch (kind) {
        case Kind::normalization:
            return sizeof(SwitchyardStableNormalization);
        case Kind::linear:
            return sizeof(SwitchyardStableLinear);
        case Kind::attention:
            return sizeof(SwitchyardStableAttention);
        case Kind::optimizer:
            return sizeof(SwitchyardStableOptimizer);
        default:
            return 0;
    }
}

// The names of the functions of a kind that are there without exception, in their order; then those that a
// component with gradient = "kernel" has as well.
struct NeededFunctions {
    std::size_t always, with_gradient;
};

NeededFunctions needed_functions(Kind kind) {
    switch (kind) {
        case Kind::linear:
            return {1, 3};
        case Kind::optimizer:
            return {4, 4};
        default:
            return {1, 2};
    }
}

using AnyFunction = void (*)();

GateOutcome check_functions(const SwitchyardStableComponent& entry, const ComponentManifest& component,
                            const std::string& where) {
    const auto* const size = static_cast<const std::uint32_t*>(entry.functions);
    if (size == nullptr) return wrong_table(where + " lacks its functions", "a structure", "a null pointer");
    const std::size_t expected = functions_size(component.kind);
    if (*size < expected) {
        return wrong_table("the functions of " + where + " are fewer than this version of the interface has",
                           std::to_string(expected) + " bytes", std::to_string(*size));
    }
    // All of these structures are a size and pointers to functions.
    std::array<AnyFunction, 4> functions{};
    std::memcpy(functions.data(),
                static_cast<const char*>(entry.functions) + offsetof(SwitchyardStableNormalization, forward),
                expected - offsetof(SwitchyardStableNormalization, forward));
    const NeededFunctions needed = needed_functions(component.kind);
    const bool gradient = component.gradient == GradientMode::kernel;
    const std::size_t count = gradient ? needed.with_gradient : needed.always;
    for (std::size_t i = 0; i < count; ++i) {
        if (functions[i] == nullptr)
            return wrong_table(
                where + " lacks a function of its kind",
                std::to_string(count) + " functions" + (gradient ? ", since its gradient is \"kernel\"" : ""),
                "number " + std::to_string(i + 1) + " is a null pointer");
    }
    return passed(Gate::descriptor);
}

GateOutcome check_stable_component(const SwitchyardStableComponent* entry, const ComponentManifest& component,
                                   const std::string& where) {
    const std::string expected = title_of(name(component.kind), component.id);
    if (entry == nullptr) return wrong_table(where + " is a null pointer", expected, "null");
    if (entry->struct_size < sizeof(SwitchyardStableComponent)) {
        return wrong_table(where + " is smaller than this version of the interface has it",
                           std::to_string(sizeof(SwitchyardStableComponent)),
                           std::to_string(entry->struct_size));
    }
    if (entry->kind == nullptr || entry->id == nullptr)
        return wrong_table(where + " lacks its kind or id", expected, "a null pointer");
    if (name(component.kind) != entry->kind || component.id != entry->id)
        return wrong_table(where + " is not the one that its manifest names", expected,
                           title_of(entry->kind, entry->id));
    if (entry->supports == nullptr || entry->create == nullptr || entry->destroy == nullptr)
        return wrong_table(where + " lacks supports, create or destroy", "three functions", "a null pointer");
    return check_functions(*entry, component, where);
}

}  // namespace

bool in_stable_tier(Kind kind) { return functions_size(kind) != 0; }

bool is_unstable_symbol(const std::string& demangled) {
    constexpr std::array<std::string_view, 5> spaces{"at::", "c10::", "torch::", "caffe2::", "switchyard::"};
    const auto begins_a_name = [&](std::size_t at) {
        if (at == 0) return true;
        const auto before = static_cast<unsigned char>(demangled[at - 1]);
        return std::isalnum(before) == 0 && before != '_' && before != ':';
    };
    for (const std::string_view space : spaces) {
        for (auto at = demangled.find(space); at != std::string::npos; at = demangled.find(space, at + 1)) {
            if (begins_a_name(at)) return true;
        }
    }
    return false;
}

GateOutcome stable_gate(const Manifest& manifest, const Fingerprint& host, const std::string& path) {
    if (manifest.abi_major != SWITCHYARD_STABLE_ABI_MAJOR || manifest.abi_minor > SWITCHYARD_STABLE_ABI_MINOR)
        return other_stable_version(manifest.abi_major, manifest.abi_minor);
    const auto libtorch = host.find("libtorch");
    if (!manifest.libtorch_minimum.empty() && libtorch != host.end() &&
        version_numbers(libtorch->second) < version_numbers(manifest.libtorch_minimum))
        return needs_libtorch(manifest.libtorch_minimum, libtorch->second);
    for (const ComponentManifest& component : manifest.components) {
        if (!in_stable_tier(component.kind))
            return refused(Gate::fingerprint,
                           "has a component of the kind " + std::string(name(component.kind)) +
                               ", which the stable tier does not have",
                           "normalization, linear, attention or optimizer", std::string(name(component.kind)),
                           "leave out tier = \"stable\"");
    }
    const ElfImports imports = imported_symbols(path);
    if (!imports.error.empty())
        return refused(Gate::fingerprint, imports.error, {}, {}, "build or copy it again");
    std::vector<std::string> unstable;
    for (const std::string& symbol : imports.symbols) {
        const std::string readable = machine::demangled(symbol);
        if (symbol.starts_with("_Z") && is_unstable_symbol(readable)) unstable.push_back(readable);
    }
    return unstable.empty() ? passed(Gate::fingerprint) : not_stable(unstable);
}

GateOutcome check_stable_descriptor(const SwitchyardStablePlugin& plugin, const Manifest& manifest) {
    if (plugin.magic != SWITCHYARD_STABLE_MAGIC) {
        return wrong_table(
            "what it exports as " + std::string(stable_symbol) + " is not a stable plugin's table",
            "SWYSTBL1 at its beginning", "something else");
    }
    if (plugin.abi_major != SWITCHYARD_STABLE_ABI_MAJOR || plugin.abi_minor > SWITCHYARD_STABLE_ABI_MINOR) {
        return wrong_table("its table is of another version of the stable interface", this_stable_version(),
                           stable_version(plugin.abi_major, plugin.abi_minor));
    }
    if (plugin.struct_size < sizeof(SwitchyardStablePlugin)) {
        return wrong_table("its table is smaller than this version of the interface has it",
                           std::to_string(sizeof(SwitchyardStablePlugin)),
                           std::to_string(plugin.struct_size));
    }
    if (plugin.component_count != manifest.components.size()) {
        return wrong_table("its table has another number of components than its manifest",
                           std::to_string(manifest.components.size()),
                           std::to_string(plugin.component_count));
    }
    if (plugin.components == nullptr || plugin.init == nullptr)
        return wrong_table("its table lacks its components or init", "both", "a null pointer");
    for (std::size_t i = 0; i < manifest.components.size(); ++i) {
        GateOutcome outcome = check_stable_component(plugin.components[i], manifest.components[i],
                                                     "component[" + std::to_string(i) + "]");
        if (!outcome.passed) return outcome;
    }
    return passed(Gate::descriptor);
}

}  // namespace switchyard::loader
