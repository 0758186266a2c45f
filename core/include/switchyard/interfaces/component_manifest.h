// What plugin.toml says of a component: the one form of these facts, for whoever needs them.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/value_spec.h>

namespace switchyard {

struct ComponentManifest {
    Kind kind = Kind::attention;
    std::string id;                     // unique among the plugin's components of that kind
    std::string summary;                // one line for people
    std::vector<std::string> variants;  // that can be asked for by name
    int priority = 0;                   // `auto` before anything was measured: the highest that conforms
    GradientMode gradient = GradientMode::none;
    RandomSource random = RandomSource::none;
    Accuracy accuracy = Accuracy::exact;
    double accuracy_bound = 0.0;  // of `reduced`: relative root-mean-square error against float64; else 0
    Composition composition = Composition::reference;  // of a data loader
    // Of an activation, a loss or an optimizer: the formulas of its own that it brings. It is asked for these
    // as "custom:NAME", and for no other of that form.
    std::vector<std::string> custom;
    OptionSchema options;
};

// Kinds whose components may bring formulas of their own.
constexpr bool may_bring_formulas(Kind kind) {
    return kind == Kind::activation || kind == Kind::loss || kind == Kind::optimizer;
}

}  // namespace switchyard
