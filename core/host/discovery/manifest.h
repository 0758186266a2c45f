// What a plugin says about itself in its section `switchyard_manifest`, readable without running any of its
// code.
//
// The section: "SWYDMAN1", u32 1, u32 size of the text (little endian), then the text: the fingerprint's
// lines, an empty line, one JSON object. sdk/include/plugin.h writes it; the C descriptor
// (<switchyard/interfaces/plugin_abi.h>) has the same facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/host/discovery/fingerprint.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/types.h>

namespace switchyard::host {

inline constexpr const char* manifest_section = "switchyard_manifest";

struct ComponentManifest {
    Kind kind = Kind::attention;
    std::string id;
    std::string summary;
    std::vector<std::string> variants;
    int rank = 0;
    GradientMode gradient = GradientMode::none;
    RandomSource random = RandomSource::none;
    Accuracy accuracy = Accuracy::exact;
    double accuracy_bound = 0.0;
    OptionSchema options;
};

struct Manifest {
    std::string name, version, vendor, license, summary;
    int abi_major = 0, abi_minor = 0;
    std::vector<std::string> cpu_features;  // without them the plugin must not be loaded
    Fingerprint fingerprint;
    std::string fingerprint_text;  // as it stands in the section
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

struct OptionSchemaResult {
    std::optional<OptionSchema> schema;
    std::string error;
};

// The JSON object of a component's declared options, as it stands in a descriptor ("{}": none).
OptionSchemaResult parse_option_schema(std::string_view json);

}  // namespace switchyard::host
