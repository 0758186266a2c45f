// Where plugins are looked for, in order: SWITCHYARD_PLUGIN_PATH (entries separated by ':'), the
// configuration's plugins.paths, the user's own folder, ../lib/switchyard/plugins beside the program, the
// place where Switchyard was installed.
#pragma once

#include <string>
#include <vector>

namespace switchyard::loader {

struct SearchEntry {
    std::string
        path;  // a folder (all its *.so, sorted, not those of its folders, not *_cuda.so) or a library
    // "SWITCHYARD_PLUGIN_PATH", "plugins.paths", "plugins install", "beside the program", "installed"
    std::string origin;
    bool named = false;  // by the user: it is reported when it does not exist
};

struct SearchPath {
    std::vector<SearchEntry> entries;
};

// `configured`: plugins.paths. Entries that name the same place are kept once, the first.
SearchPath standard_search_path(const std::vector<std::string>& configured = {});

// Where `plugins install` puts them: ~/.local/lib/switchyard/plugins. Empty: there is no HOME.
std::string user_plugin_folder();

// What one entry holds.
struct SearchFinding {
    SearchEntry entry;
    bool exists = false;
    std::vector<std::string> libraries;  // absolute, sorted by name
    std::string error;                   // why it could not be read; empty if it could
};

std::vector<SearchFinding> scan(const SearchPath& path);

}  // namespace switchyard::loader
