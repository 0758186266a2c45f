#include "core/kernel/loader/search_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/kernel/machine/program_paths.h"

namespace switchyard::loader {

namespace fs = std::filesystem;

namespace {

constexpr const char* plugin_folder = "lib/switchyard/plugins";

std::string absolute(const std::string& path) {
    std::error_code error;
    const fs::path full = fs::absolute(path, error);
    return error ? path : full.lexically_normal().string();
}

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void add(SearchPath& path, const std::string& place, const char* origin, bool named) {
    if (place.empty()) return;
    const std::string full = absolute(place);
    const bool known = std::any_of(path.entries.begin(), path.entries.end(), [&](const SearchEntry& entry) {
        std::error_code error;
        return entry.path == full || fs::equivalent(entry.path, full, error);
    });
    if (!known) path.entries.push_back({full, origin, named});
}

}  // namespace

std::string user_plugin_folder() {
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home != '/') return "";
    return (fs::path(home) / ".local" / plugin_folder).string();
}

SearchPath standard_search_path(const std::vector<std::string>& configured) {
    SearchPath path;
    const char* variable = std::getenv("SWITCHYARD_PLUGIN_PATH");
    std::string rest = variable == nullptr ? "" : variable;
    while (!rest.empty()) {
        const auto colon = std::min(rest.find(':'), rest.size());
        add(path, rest.substr(0, colon), "SWITCHYARD_PLUGIN_PATH", true);
        rest.erase(0, colon + 1);
    }
    for (const std::string& place : configured) add(path, place, "plugins.paths", true);
    add(path, user_plugin_folder(), "plugins install", false);
    add(path, machine::belonging_path(plugin_folder), "beside the program", false);
    add(path, machine::installed_path(plugin_folder), "installed", false);
    return path;
}

std::vector<SearchFinding> scan(const SearchPath& path) {
    std::vector<SearchFinding> findings;
    for (const SearchEntry& entry : path.entries) {
        SearchFinding finding{entry, false, {}, {}};
        std::error_code error;
        const fs::file_status status = fs::status(entry.path, error);
        finding.exists = fs::exists(status);
        if (finding.exists && !fs::is_directory(status)) finding.libraries.push_back(entry.path);
        if (fs::is_directory(status)) {
            for (fs::directory_iterator at(entry.path, error), end; !error && at != end;
                 at.increment(error)) {
                const std::string file = at->path().string();
                if (ends_with(file, ".so") && !ends_with(file, "_cuda.so")) finding.libraries.push_back(file);
            }
            std::sort(finding.libraries.begin(), finding.libraries.end());
        }
        if (error && finding.exists) finding.error = error.message();
        findings.push_back(std::move(finding));
    }
    return findings;
}

}  // namespace switchyard::loader
