#include "core/kernel/loader/fingerprint.h"

#include <utility>

namespace switchyard::loader {

namespace {

// What begins the key of a kind's layout.
const std::string layout_of = "layout_";

bool is_build_id(const std::string& key) {
    return key == "libtorch_cpu_build_id" || key == "libc10_build_id";
}

std::string value_of(const Fingerprint& fingerprint, std::string_view key) {
    const auto found = fingerprint.find(key);
    return found == fingerprint.end() ? "nothing" : found->second;
}

Mismatch explain(const std::string& key, const std::string& host, const std::string& plugin,
                 const Fingerprint& all) {
    Mismatch mismatch{key, {}, host, plugin, "rebuild it with this program's SDK"};
    const std::string torch = value_of(all, "libtorch");
    if (key == "libtorch") {
        mismatch.reason = "built with LibTorch " + plugin + ", this program has " + host;
        mismatch.hint = "rebuild it with LibTorch " + host;
    } else if (is_build_id(key)) {
        const std::string library = key == "libc10_build_id" ? "libc10.so" : "libtorch_cpu.so";
        mismatch.reason = "built with another build of LibTorch " + torch + ": its " + library +
                          " is not the one that this program loads";
        mismatch.hint = "rebuild it with the LibTorch of this program";
    } else if (key == "cxx11_abi") {
        mismatch.reason = "built with _GLIBCXX_USE_CXX11_ABI=" + plugin + ", this program with " + host;
    } else if (key == "glibcxx_debug") {
        mismatch.reason = std::string("built ") + (plugin == "1" ? "with" : "without") +
                          " _GLIBCXX_DEBUG, this program " + (host == "1" ? "with" : "without") +
                          " it: containers have other sizes";
    } else if (key == "sanitizers") {
        mismatch.reason = "built with sanitizers: " + plugin + ", this program with: " + host;
        if (host == "none" && plugin == "address")
            mismatch.hint =
                "rebuild it without, or start this program with the sanitizer: "
                "LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0";
    } else if (key == "abi_major") {
        mismatch.reason =
            "built for version " + plugin + " of Switchyard's plugin interface, this program has " + host;
    } else if (key == "layout") {
        mismatch.reason =
            "built with headers of Switchyard whose structures are laid out otherwise than this program's";
    } else if (key.starts_with(layout_of)) {
        mismatch.reason = "built with headers of Switchyard in which the contract of " +
                          key.substr(layout_of.size()) + " is laid out otherwise than in this program's";
    } else {
        mismatch.reason = "built with " + key + "=" + plugin + ", this program has " + host;
    }
    return mismatch;
}

}  // namespace

std::optional<Fingerprint> parse_fingerprint(std::string_view text) {
    Fingerprint fingerprint;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        const auto equals = line.find('=');
        if (equals == std::string_view::npos || equals == 0) return std::nullopt;
        if (!fingerprint.emplace(line.substr(0, equals), line.substr(equals + 1)).second) return std::nullopt;
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return fingerprint;
}

std::vector<Mismatch> compare(const Fingerprint& host, const Fingerprint& plugin,
                              const std::set<Kind>& kinds) {
    // What explains most comes first. Another release of LibTorch is another build of it: that goes without
    // saying.
    std::vector<std::string> order = {"abi_major",       "libtorch",  "libtorch_cpu_build_id",
                                      "libc10_build_id", "cxx11_abi", "glibcxx_debug",
                                      "sanitizers",      "layout"};
    for (const Kind kind : kinds) order.push_back(layout_of + std::string(name(kind)));
    std::vector<Mismatch> mismatches;
    for (const auto& key : order) {
        const std::string ours = value_of(host, key);
        const std::string theirs = value_of(plugin, key);
        // A plugin with the sanitizer works in a program without, if the sanitizer was there from the start.
        if (key == "sanitizers" && theirs == "address" && host.contains(std::string(sanitizer_runs)))
            continue;
        const bool explained = is_build_id(key) && value_of(host, "libtorch") != value_of(plugin, "libtorch");
        if (ours != theirs && !explained) mismatches.push_back(explain(key, ours, theirs, host));
    }
    return mismatches;
}

}  // namespace switchyard::loader
