#include "core/kernel/machine/libtorch_place.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/kernel/machine/program_paths.h"

namespace switchyard::machine {
namespace {

namespace fs = std::filesystem;

bool has_libtorch(const fs::path& libraries) {
    std::error_code error;
    return fs::exists(libraries / "libtorch_cpu.so", error);
}

// "2.11.0" of "2.11.0+cpu"; empty: its files do not say. `root`: the folder above its libraries.
std::string version_of(const fs::path& root) {
    std::string text;
    if (std::ifstream(root / "build-version") >> text) return text.substr(0, text.find('+'));
    std::ifstream python(root / "version.py");
    const std::string begin = "__version__ = '";
    while (std::getline(python, text)) {
        if (!text.starts_with(begin)) continue;
        text.erase(0, begin.size());
        return text.substr(0, text.find_first_of("+'"));
    }
    return "";
}

// Why the LibTorch in `libraries` cannot be taken; empty: it can.
std::string other_version(const fs::path& libraries, const std::string& wanted) {
    const auto version = version_of(libraries.parent_path());
    if (version.empty() || version == wanted) return "";
    return "is LibTorch " + version + "; this program was built with " + wanted;
}

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ':');)
        if (!part.empty()) parts.push_back(part);
    return parts;
}

std::string hint_for(const std::string& version) {
    return "name the folder of LibTorch " + version +
           " that has lib/libtorch_cpu.so with SWITCHYARD_LIBTORCH=FOLDER; `pip install torch==" + version +
           "` brings one, as site-packages/torch";
}

}  // namespace

LibTorchSearch standard_libtorch_search() {
    const std::string anchor = "libexec/switchyard/switchyard-run";
    std::string root = belonging_path(anchor);
    if (!root.empty()) root.erase(root.size() - anchor.size());
    return {SWITCHYARD_LIBTORCH_BUILT_IN, SWITCHYARD_LIBTORCH_BUILT_WITH,
            root.empty() ? "" : root + "lib/switchyard/libtorch", SWITCHYARD_LIBTORCH_VERSION,
            [](const char* name) {
                const char* const value = std::getenv(name);
                return std::string(value == nullptr ? "" : value);
            }};
}

LibTorchPlace find_libtorch(const LibTorchSearch& search) {
    LibTorchPlace place;
    if (const auto named = search.variable("SWITCHYARD_LIBTORCH"); !named.empty()) {
        const auto libraries = fs::path(named) / "lib";
        place.problem =
            has_libtorch(libraries) ? other_version(libraries, search.version) : "has no lib/libtorch_cpu.so";
        if (place.problem.empty())
            place.libraries = libraries.string();
        else
            place.problem = "SWITCHYARD_LIBTORCH=" + named + ": " + place.problem,
            place.hint = hint_for(search.version);
        return place;
    }
    if (has_libtorch(search.built_in)) return {search.built_in, true, "", ""};
    std::vector<fs::path> candidates{search.built_with};
    if (!search.beside.empty()) candidates.emplace_back(fs::path(search.beside) / "lib");
    for (const auto& prefix : parts_of(search.variable("CMAKE_PREFIX_PATH")))
        for (const char* below : {"lib", "torch/lib", "libtorch/lib", "../../lib"})
            candidates.push_back((fs::path(prefix) / below).lexically_normal());
    place.problem = "LibTorch " + search.version + " was not found; looked for libtorch_cpu.so in\n    " +
                    search.built_in;
    for (const auto& libraries : candidates) {
        if (libraries == search.built_in) continue;
        place.problem += "\n    " + libraries.string();
        if (!has_libtorch(libraries)) continue;
        const auto other = other_version(libraries, search.version);
        if (other.empty()) return {libraries.string(), false, "", ""};
        place.problem += ", which " + other;
    }
    place.hint = hint_for(search.version);
    return place;
}

void lead_to(const LibTorchPlace& place) {
    if (place.built_in || place.libraries.empty()) return;
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    const std::string rest = before == nullptr || *before == '\0' ? "" : ":" + std::string(before);
    ::setenv("LD_LIBRARY_PATH", (place.libraries + rest).c_str(), 1);
}

}  // namespace switchyard::machine
