#include "core/kernel/base/executed_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/kernel/base/joined.h"

namespace switchyard::base {
namespace {

// Of one slot: who was called, and in which phases.
using Callees = std::map<std::string, std::set<std::string>>;

// The phases are told where not all were called in the same.
std::string callees_text(const Callees& callees) {
    const bool same = std::ranges::all_of(
        callees, [&](const auto& callee) { return callee.second == callees.begin()->second; });
    std::string text;
    for (const auto& [name, phases] : callees)
        add_item(text, same || phases.contains("") ? name : name + " (" + joined(phases) + ")", " + ");
    return text;
}

}  // namespace

std::string executed_text(const Json& executed, Called when) {
    std::string text;
    if (!executed.is_object()) return text;
    std::vector<std::pair<std::string, Callees>> slots;
    for (const auto& [full_slot, rows] : executed.items()) {
        // A model has many linear layers: which one each component multiplied is told in the plan.
        const std::string slot = full_slot.starts_with("linear.") ? "linear" : full_slot;
        if (slots.empty() || slots.back().first != slot) slots.push_back({slot, {}});
        auto& callees = slots.back().second;
        for (const auto& row : rows.is_array() ? rows : Json::array()) {
            const auto phase = text_of(row, "phase");
            const bool training = when == Called::in_training;
            if (!row.is_object() || (training && row.contains("phase") && phase != "train")) continue;
            const auto component = text_of(row, "component"), plugin = text_of(row, "plugin"),
                       variant = text_of(row, "variant");
            std::string name = plugin.empty() || plugin == component ? component : plugin + "/" + component;
            if (!variant.empty()) name += "@" + variant;
            if (!name.empty()) callees[name].insert(training ? "" : phase);
        }
    }
    for (const auto& [slot, callees] : slots)
        if (!callees.empty()) add_item(text, slot + " " + callees_text(callees));
    return text;
}

}  // namespace switchyard::base
