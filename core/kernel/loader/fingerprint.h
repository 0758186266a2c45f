// What a plugin and its host must have in common, as text that can be shown as a difference.
//
// The text is lines of key=value, made at compile time (<switchyard/interfaces/fingerprint.h>). A plugin
// carries it in its section `switchyard_manifest`, the probe program in its section `switchyard_fingerprint`:
// the host is what that program was built as, with the LibTorch that the loader finds for it now.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::loader {

using Fingerprint = std::map<std::string, std::string, std::less<>>;

// Key of a host in which the address sanitizer was there from the start, though the program was built
// without: plugins that were built with it fit.
inline constexpr std::string_view sanitizer_runs = "address_sanitizer_runs";

// nullopt if a line is not key=value, or a key comes twice.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

// One key that differs, in plain words: "built with LibTorch 2.10.0, this program has 2.11.0", "rebuild it
// ...".
struct Mismatch {
    std::string key;
    std::string reason;
    std::string expected;
    std::string got;
    std::string hint;
};

// Every difference that forbids loading; empty: they fit. Keys that are told but not compared (compiler) are
// left out, as are the layouts of other kinds than the plugin's, and build ids of two releases of LibTorch.
std::vector<Mismatch> compare(const Fingerprint& host, const Fingerprint& plugin,
                              const std::set<Kind>& kinds);

}  // namespace switchyard::loader
