// One library that the search came upon, and how far it got through the gates.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include "core/kernel/loader/manifest.h"
#include "core/kernel/loader/probe/probe_report.h"

namespace switchyard::loader {

// In the order in which they are passed. Up to `probe` they are discovery's and nothing of the plugin runs in
// this process; the last three are the Registry's, when a component is first asked for. `trust` is there only
// where somebody judges it (DiscoveryOptions::judge).
enum class Gate : std::uint8_t {
    path,
    manifest,
    disabled,
    duplicate,
    fingerprint,
    architecture,
    cpu_features,
    trust,
    probe,
    load,
    descriptor,
    init
};

struct GateOutcome {
    Gate gate = Gate::path;
    bool passed = false;
    std::string reason;    // plain words; may be empty if passed
    std::string expected;  // may be empty
    std::string got;       // may be empty
    std::string hint;      // what to do; may be empty
};

GateOutcome passed(Gate gate);
GateOutcome refused(Gate gate, std::string reason, std::string expected = {}, std::string got = {},
                    std::string hint = {});

// What is known of a component from runs of conformance.
enum class Verification : std::uint8_t {
    unknown,     // nobody looked
    own,         // it comes with this program
    passed,      // of this content, for this version of the host
    unverified,  // it did not run, or found faults
    passed_use,  // in the use at hand, as `verify --config` ran it; not all that the component claims
};

// One use of a component that a run of conformance looked at: resolver::use_in_words.
struct VerifiedUse {
    std::string use;
    bool passed = false;
};

// What Gate::trust says of one component, where it passed the plugin.
struct ComponentTrust {
    Kind kind = Kind::attention;
    std::string id;
    Verification verification = Verification::unknown;
    std::vector<VerifiedUse> uses;
    std::optional<GateOutcome> refusal;  // why it must not be used, although other components may
};

struct PluginRecord {
    std::string path;    // of the library, absolute
    std::string origin;  // the entry of the search path: "SWITCHYARD_PLUGIN_PATH", "plugins.paths", ...
    std::optional<Manifest> manifest;   // there if Gate::manifest was passed
    std::vector<GateOutcome> gates;     // in order; ends with the first that was not passed
    std::optional<ProbeReport> probe;   // there if the probe ran or its result was known
    std::string content_hash;           // of the library; there if the gates before the probe were passed
    std::vector<ComponentTrust> trust;  // of each component, where Gate::trust was passed

    // Every gate so far was passed, and there was one.
    bool usable() const;
    const GateOutcome* failure() const;  // nullptr if usable

    // Why this component must not be used although the plugin may (it threw when it was probed); empty:
    // nothing is known against it.
    std::string component_failure(Kind kind, std::string_view id) const;

    // nullptr where nobody judged it.
    const ComponentTrust* trust_of(Kind kind, std::string_view id) const;

    // The plugin's name, or the file's if the manifest could not be read.
    std::string display_name() const;
};

// "/path/libx.so: refused at gate architecture: is built for another processor; expected ..., got ...; hint"
// Empty if the record is usable.
std::string explain(const PluginRecord& record);

}  // namespace switchyard::loader

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 12> names<loader::Gate>{
    "path",         "manifest", "disabled", "duplicate", "fingerprint", "architecture",
    "cpu_features", "trust",    "probe",    "load",      "descriptor",  "init"};
template <>
inline constexpr std::array<std::string_view, 5> names<loader::Verification>{"unknown", "own", "passed",
                                                                             "unverified", "passed_use"};
}  // namespace switchyard
