// From TOML text to a Config, with every mistake told in one pass.
//
// Order, later wins: defaults; the preset; the files that are included, in order; the folder that [model]
// from names; the file itself; the overrides. [[layer]] rules are appended in the same order. An included
// file may itself name a preset and include others. A preset that an override names is read first and takes
// the place of all that files name; files and a folder that an override names are read where it stands.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/value_spec.h>
#include "core/kernel/config/config.h"
#include "core/kernel/config/problem.h"

namespace switchyard::config {

// Options that a component declares, from its plugin's manifest; empty: it has none.
struct ComponentSchema {
    std::string full_name;  // "plugin/id"
    OptionSchema options;
};
// By the name under which the options stand: the component's id, or its full name where several plugins have
// that id.
using OptionSchemas = std::map<std::pair<Kind, std::string>, ComponentSchema>;

// Where mistakes in the overrides[index] of a LoadRequest are told: "--set #2".
std::string place_of_override(std::size_t index);

// What an argument or an option of another name stands for.
struct Implied {
    std::string place;  // "--weights"; problems are told there
    std::string text;   // as an override
};

// What the folder or file of a trained model says of itself.
struct ModelFolder {
    std::string file;   // that says so
    std::string text;   // as TOML
    std::string error;  // why it cannot be used, told where the folder is named
};
using ReadModelFolder = std::function<ModelFolder(const std::string& folder)>;

struct LoadRequest {
    std::string path;                        // of the file; empty: defaults and overrides only
    bool recorded = false;                   // the file is a run's own record of its job
    std::optional<std::string> text;         // read this instead of the file; `path` then only names it
    std::vector<Implied> implied;            // before the overrides
    std::vector<std::string> overrides;      // "optimizer.lr=3e-4", in order
    std::vector<std::string> preset_dirs;    // searched in order for NAME.toml
    ReadModelFolder read_model_folder;       // empty: [model] from is an error
    const OptionSchemas* schemas = nullptr;  // nullptr: options of components are kept as written, unchecked
};

struct LoadResult {
    std::optional<Config> config;    // only if there are no problems
    std::vector<Problem> problems;   // by file in the order of reading, then by place
    std::vector<std::string> files;  // all that were read, in order
};

LoadResult load(const LoadRequest& request);

// Names of the presets in these folders, sorted.
std::vector<std::string> preset_names(const std::vector<std::string>& preset_dirs);

}  // namespace switchyard::config
