#include "core/kernel/base/executed_text.h"

#include <set>

#include "core/kernel/base/joined.h"

namespace switchyard::base {

std::string executed_text(const Json& executed) {
    std::string text;
    if (!executed.is_object()) return text;
    for (const auto& [slot, rows] : executed.items()) {
        std::set<std::string> names;
        for (const auto& row : rows.is_array() ? rows : Json::array()) {
            const auto phase = text_of(row, "phase");
            if (!row.is_object() || (row.contains("phase") && phase != "train")) continue;
            const auto component = text_of(row, "component"), plugin = text_of(row, "plugin"),
                       variant = text_of(row, "variant");
            std::string name = plugin.empty() || plugin == component ? component : plugin + "/" + component;
            if (!variant.empty()) name += "@" + variant;
            if (!name.empty()) names.insert(name);
        }
        if (!names.empty()) add_item(text, slot + " " + joined(names, " + "));
    }
    return text;
}

}  // namespace switchyard::base
