#include "core/kernel/base/executed_text.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/kernel/base/joined.h"

namespace switchyard::base {

namespace {

// `phase`: of which alone; empty: of all.
std::string text_of_phase(const Json& executed, const std::string& phase) {
    std::string text;
    std::vector<std::pair<std::string, std::set<std::string>>> slots;
    for (const auto& [full_slot, rows] : executed.items()) {
        // A model has many linear layers: which one each component multiplied is told in the plan.
        const std::string slot = full_slot.starts_with("linear.") ? "linear" : full_slot;
        if (slots.empty() || slots.back().first != slot) slots.push_back({slot, {}});
        auto& names = slots.back().second;
        for (const auto& row : rows.is_array() ? rows : Json::array()) {
            const bool other = !phase.empty() && row.contains("phase") && text_of(row, "phase") != phase;
            if (!row.is_object() || other) continue;
            const auto component = text_of(row, "component"), plugin = text_of(row, "plugin"),
                       variant = text_of(row, "variant");
            std::string name = plugin.empty() || plugin == component ? component : plugin + "/" + component;
            if (!variant.empty()) name += "@" + variant;
            if (!name.empty()) names.insert(name);
        }
    }
    for (const auto& [slot, names] : slots)
        if (!names.empty()) add_item(text, slot + " " + joined(names, " + "));
    return text;
}

// In the order in which they come.
std::vector<std::string> phases_of(const Json& executed) {
    std::vector<std::string> phases;
    for (const auto& [slot, rows] : executed.items()) {
        for (const auto& row : rows.is_array() ? rows : Json::array()) {
            const auto phase = text_of(row, "phase");
            if (!phase.empty() && std::ranges::find(phases, phase) == phases.end()) phases.push_back(phase);
        }
    }
    return phases;
}

}  // namespace

std::string executed_text(const Json& executed, Called when) {
    if (!executed.is_object()) return "";
    const auto phases = when == Called::by_phase ? phases_of(executed) : std::vector<std::string>();
    if (phases.empty()) return text_of_phase(executed, when == Called::in_training ? "train" : "");
    std::string text;
    for (const auto& phase : phases) add_item(text, phase + ": " + text_of_phase(executed, phase), "; ");
    return text;
}

}  // namespace switchyard::base
