// What a plugin says about itself in its section `switchyard_manifest`, readable without running any of its
// code. Nowhere else does it say any of this: whatever the host goes by was read here.
//
// The section: "SWYDMAN1", u32 1, u32 size of the text (little endian), then the text: the fingerprint's
// lines, an empty line, one JSON object. sdk/include/switchyard/sdk/plugin.h writes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <switchyard/interfaces/component_manifest.h>
#include "core/kernel/loader/fingerprint.h"

namespace switchyard::loader {

inline constexpr const char* manifest_section = "switchyard_manifest";

// What a plugin is built against: `native`, the C++ contracts and one LibTorch (plugin_abi.h); `stable`,
// the C table of stable_abi.h, whichever LibTorch is there.
enum class Tier : std::uint8_t { native, stable };

struct Manifest {
    std::string name, version, vendor, license, summary;
    Tier tier = Tier::native;
    std::string libtorch_minimum;  // of a stable plugin: "2.10", or empty: any
    // Of the tier's own interface.
    int abi_major = 0, abi_minor = 0;
    std::vector<std::string> cpu_features;  // without them the plugin must not be loaded
    Fingerprint fingerprint;
    std::vector<ComponentManifest> components;

    // nullptr if there is none.
    const ComponentManifest* find(Kind kind, std::string_view id) const;
};

struct ManifestResult {
    std::optional<Manifest> manifest;
    std::string error;  // where and why, if there is no manifest
};

// `section`: the bytes of the ELF section. Never throws; unknown JSON keys are ignored (a later abi_minor may
// add some).
ManifestResult parse_manifest(std::string_view section);

// As it stands in the manifest.
nlohmann::ordered_json to_json(const ComponentManifest& component);

// "2.10" as {2, 10, 0}; nullopt for what is not one to three numbers with points between.
std::optional<std::array<int, 3>> version_numbers(std::string_view text);

}  // namespace switchyard::loader

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<loader::Tier>{"native", "stable"};
}  // namespace switchyard
