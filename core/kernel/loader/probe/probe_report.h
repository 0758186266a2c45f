// What the probe program found out about one plugin, in a process of its own: whether it can be loaded and
// its components made and called, and what each of them answers for standard requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/verdict.h>
#include "core/kernel/loader/probe/mapped_files.h"

namespace switchyard::loader {

// In this order. `start`: nothing of the plugin has run, or the loader refused to load it.
enum class ProbePhase : std::uint8_t {
    start,
    load,
    descriptor,
    init,
    supports,
    create,
    forward,
    destroy,
    done
};

struct ProbeFailure {
    ProbePhase phase = ProbePhase::start;
    std::string component;  // "attention 'flash'", or empty where the plugin as a whole is meant
    std::string text;       // "crashed with SIGSEGV", "threw std::runtime_error: ...", "needs the symbol ..."
    std::string hint;
};

// "in create of attention 'flash': threw int (7)"
std::string to_string(const ProbeFailure& failure);

// Of one field of the request, or of those that can be added to it: what is served there, and what is not.
struct ServedValues {
    std::string field;  // "layout", "masks", "also", "weight_format"
    std::vector<std::string> served, refused;
    bool operator==(const ServedValues&) const = default;
};

// One component x device x dtype, for the standard request of its kind (core/kernel/probe/requests.h).
struct SupportCell {
    Device device = Device::cpu;
    DType dtype = DType::float32;
    bool ok = false;
    std::string host;  // whom it was asked for: "this host", or "h100" where this machine has no such device
    std::vector<std::string>
        serves;  // where a kind has several formulas: those that it does ("layer_norm", "adamw", ...)
    std::vector<Reason> reasons;  // why not
    // Where it is served: what else is, with one thing changed at a time.
    std::vector<ServedValues> values;
};

struct ComponentProbe {
    Kind kind = Kind::attention;
    std::string id;
    std::vector<SupportCell> support;
    bool ran = false;  // created, and one tiny forward came back; false if nothing on a CPU fits it
    std::optional<ProbeFailure> failure;  // this component must not be used, the plugin's others may
};

struct ProbeReport {
    std::optional<ProbeFailure> failure;  // the plugin must not be loaded
    std::vector<ComponentProbe> components;
    // What the plugin brought along: libraries that were mapped with it, and its second one for CUDA, whose
    // identity is empty where there is none. Empty if it was not loaded.
    FileIdentities files;
    std::int64_t milliseconds = 0;
    std::string output;  // the last KiB that the plugin printed
    bool from_cache = false;

    const ComponentProbe* find(Kind kind, std::string_view id) const;
};

// JSON text, for the pipe and for the cache. `from_cache` does not stand in it.
std::string to_json(const ProbeReport& report);
std::optional<ProbeReport> parse_probe_report(std::string_view json);

}  // namespace switchyard::loader

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 9> names<loader::ProbePhase>{
    "start", "load", "descriptor", "init", "supports", "create", "forward", "destroy", "done"};
}  // namespace switchyard
