// plugin.toml: what a plugin's author writes about it.
//
//     name = "mine"                      # lower case; the library is lib<name>.so
//     version = "1.0.0"
//     vendor = "Example"
//     license = "Apache-2.0"
//     summary = "One line for people"
//     cpu_features = ["avx2", "fma"]     # without them the plugin must not be loaded; left out: none
//     tier = "stable"                    # native (left out) or stable (stable_abi.h), which has no init, no
//                                        # class and no header
//     libtorch_minimum = "2.10"          # of a stable plugin, where it needs one; left out: any
//     init = "set_up"                    # called once after loading (plugin_abi.h), declared in init_header;
//                                        left out: none
//     init_header = "set_up.h"
//
//     [[component]]
//     kind = "attention"                 # a name of interfaces/types.h (Kind)
//     id = "mine"
//     class = "MyAttention"              # derives from the interface of its kind
//     header = "my_attention.h"          # where the class is
//     summary = "One line for people"
//     gradient = "kernel"                # kernel, differentiable, recompute, none
//     priority = 50                      # left out: 0
//     variants = ["fast", "small"]       # left out: none
//     random = "counter"                 # none (left out), counter, library
//     accuracy = "reduced"               # exact (left out), reduced; then accuracy_bound
//     accuracy_bound = 1e-2
//     custom = ["adafactor"]             # of an activation, loss or optimizer: formulas of its own; none
//     composition = "own"                # of a data loader: reference (left out), own
//     [component.options.chunk_size]
//     type = "integer"                   # boolean, integer, number, string, list
//     default = 256
//     min = 16                           # and max: of integer and number
//     choices = ["a", "b"]               # of string, and of the members of a list
//     help = "Keys that are read at once"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kernel/config/problem.h"
#include "core/kernel/loader/manifest.h"

namespace switchyard::loader {

struct ComponentSource {
    std::string class_name;
    std::string header;
};

struct PluginToml {
    Manifest manifest;                     // without fingerprint
    std::vector<ComponentSource> sources;  // one for each of manifest.components; empty ones if it is stable
    ComponentSource init;                  // the function's name, or empty
};

struct PluginTomlResult {
    std::optional<PluginToml> plugin;  // only if there are no problems
    std::vector<config::Problem> problems;
};

// `target`: what the plugin has to be called; empty: anything.
PluginTomlResult read_plugin_toml(const std::string& path, const std::string& target);

}  // namespace switchyard::loader
