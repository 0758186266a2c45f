#include "core/workbench/cli/compare/plan_difference.h"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/resolver/plan_json.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

// Who serves each use of a kind: by slot, phase and layer, so that groups of layers do not matter.
std::map<std::string, std::string> served(const resolver::Plan& plan, Kind kind) {
    std::map<std::string, std::string> all;
    for (const auto& row : plan.rows) {
        if (row.use.kind != kind || !row.chosen) continue;
        const auto by =
            resolver::full_name(*row.chosen) + " " + resolver::to_json(row.chosen->options).dump();
        for (const auto& slot : resolver::single_slots(row.use.slot))
            all[slot + "|" + std::string(name(row.use.phase)) + "|" + row.use.layers] = by;
    }
    return all;
}

// As words: each component once, with options that are not its defaults' only where it has some.
std::string in_words(const resolver::Plan& plan, Kind kind) {
    std::vector<std::string> list;
    for (const auto& row : plan.rows) {
        if (row.use.kind != kind || !row.chosen) continue;
        std::string one = resolver::full_name(*row.chosen);
        const Json options = resolver::to_json(row.chosen->options);
        for (const auto& [key, value] : options.items())
            one += " " + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
        if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
    }
    return joined(list, ", ");
}

// Under which a component's options stand: its id, or "plugin/id" where several plugins have that id.
std::string options_key(const runtime::Registry& registry, Kind kind, const resolver::Chosen& chosen) {
    int plugins = 0;
    for (const auto& record : registry.records()) {
        if (!record.manifest) continue;
        plugins += std::ranges::any_of(record.manifest->components, [&](const ComponentManifest& one) {
            return one.kind == kind && one.id == chosen.component;
        });
    }
    return plugins > 1 ? "\"" + chosen.plugin + "/" + chosen.component + "\"" : chosen.component;
}

std::vector<std::string> overrides_of(const PlannedJob& job, Kind kind) {
    const std::string section(name(kind));
    std::vector<std::string> names, options;
    for (const auto& row : job.plan.rows) {
        if (row.use.kind != kind || !row.chosen) continue;
        const auto full = resolver::full_name(*row.chosen);
        if (std::ranges::find(names, full) != names.end()) continue;
        names.push_back(full);
        const auto key = section + ".options." + options_key(*job.registry, kind, *row.chosen) + ".";
        const Json values = resolver::to_json(row.chosen->options);
        for (const auto& [option, value] : values.items())
            options.push_back(key + option + "=" + value.dump());
    }
    std::vector<std::string> overrides{section + ".backend=" + Json(names).dump()};
    overrides.insert(overrides.end(), options.begin(), options.end());
    return overrides;
}

}  // namespace

std::vector<SlotDifference> plan_differences(const PlannedJob& first, const PlannedJob& second) {
    std::vector<SlotDifference> differences;
    for (const Kind kind : all_kinds) {
        if (served(first.plan, kind) == served(second.plan, kind)) continue;
        differences.push_back({std::string(name(kind)), in_words(first.plan, kind),
                               in_words(second.plan, kind), overrides_of(second, kind)});
    }
    return differences;
}

}  // namespace switchyard::cli
