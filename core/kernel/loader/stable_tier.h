// What is asked of a plugin of the stable tier (stable_abi.h) in place of LibTorch's builds and C++ layouts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/stable_abi.h>
#include "core/kernel/loader/fingerprint.h"
#include "core/kernel/loader/plugin_record.h"

namespace switchyard::loader {

inline constexpr const char* stable_symbol = "switchyard_stable_plugin_v1";

// The kinds that the table has functions for.
bool in_stable_tier(Kind kind);

// A symbol of C++ whose meaning ends with a release of LibTorch or of Switchyard: demangled, it names
// something in at::, c10::, torch::, caffe2:: or switchyard::. The standard library's are none of them.
bool is_unstable_symbol(const std::string& demangled);

// The outcome of Gate::fingerprint: the version of the table, the LibTorch that it needs at least, and what
// the file at `path` takes from other libraries, of which nothing may be unstable. Reads the file, runs
// nothing.
GateOutcome stable_gate(const Manifest& manifest, const Fingerprint& host, const std::string& path);

// The outcome of Gate::descriptor: the first thing that is wrong.
GateOutcome check_stable_descriptor(const SwitchyardStablePlugin& plugin, const Manifest& manifest);

}  // namespace switchyard::loader
