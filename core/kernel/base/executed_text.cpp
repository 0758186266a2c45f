#include "core/kernel/base/executed_text.h"

#include <set>
#include <utility>
#include <vector>

#include "core/kernel/base/joined.h"

namespace switchyard::base {

std::string executed_text(const Json& executed, Called when) {
    std::string text;
    if (!executed.is_object()) return text;
    std::vector<std::pair<std::string, std::set<std::string>>> slots;
    for (const auto& [full_slot, rows] : executed.items()) {
        // A model has many linear layers: which one each component multiplied is told in the plan.
        const std::string slot = full_slot.starts_with("linear.") ? "linear" : full_slot;
        if (slots.empty() || slots.back().first != slot) slots.push_back({slot, {}});
        auto& names = slots.back().second;
        for (const auto& row : rows.is_array() ? rows : Json::array()) {
            const auto phase = text_of(row, "phase");
            const bool other = when == Called::in_training && row.contains("phase") && phase != "train";
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

}  // namespace switchyard::base
