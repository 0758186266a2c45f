#include "core/workbench/data/file_pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

namespace switchyard::data {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
         at.increment(error))
        entries.push_back(folder / at->path().filename());
    return entries;
}

// Adds what matches `parts` below `folder`.
void match(const fs::path& folder, std::span<const fs::path> parts, std::set<std::string>& found) {
    std::error_code error;
    if (parts.empty()) {
        found.insert(folder.string());
        return;
    }
    const auto part = parts.front().string();
    const auto rest = parts.subspan(1);
    if (const auto named = folder / part; !is_pattern(part) || fs::exists(named, error)) {
        if (fs::exists(named, error)) match(named, rest, found);
        return;
    }
    if (part == "**") match(folder, rest, found);
    for (const auto& entry : entries_of(folder)) {
        const auto name = entry.filename().string();
        const bool is_folder = fs::is_directory(entry, error);
        if (part == "**") {
            const bool followed = fs::is_symlink(entry, error);  // might lead back
            if (is_folder && !followed && !name.starts_with('.')) match(entry, parts, found);
        } else if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0 && (rest.empty() || is_folder)) {
            match(entry, rest, found);
        }
    }
}

}  // namespace

bool is_pattern(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

std::vector<std::string> matches_of(const std::string& pattern) {
    const fs::path path(pattern);
    std::vector<fs::path> parts;
    for (const auto& part : path.relative_path()) {
        if (!part.empty()) parts.push_back(part);
    }
    if (!parts.empty() && parts.back() == "**") parts.emplace_back("*");
    std::set<std::string> found;
    match(path.root_path(), parts, found);
    return {found.begin(), found.end()};
}

}  // namespace switchyard::data
