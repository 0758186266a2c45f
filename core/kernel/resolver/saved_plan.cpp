#include "core/kernel/resolver/saved_plan.h"

#include <map>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/resolver/plan_json.h"

namespace switchyard::resolver {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;

struct Entry {
    std::string choice;  // "torch/torch@flash 1.0.0"
    std::string hash;
    std::string options;  // JSON text
    std::string composed;
};
using Entries = std::map<std::string, Entry>;  // by "attention, encoder.0-5, train"

Json saved_slot(const PlanRow& row) {
    const auto& chosen = *row.chosen;
    return {{"slot", row.use.slot},
            {"layers", row.use.layers},
            {"phase", std::string(name(row.use.phase))},
            {"plugin", chosen.plugin},
            {"version", chosen.version},
            {"component", chosen.component},
            {"variant", chosen.variant},
            {"content_hash", chosen.content_hash},
            {"options", to_json(chosen.options)},
            {"composed", chosen.composed}};
}

Json saved_json(const Plan& plan) {
    Json slots = Json::array();
    for (const auto& row : plan.rows) {
        if (row.chosen) slots.push_back(saved_slot(row));
    }
    return {{"switchyard_plan", format_version}, {"host", plan.host.name}, {"slots", slots}};
}

// Throws InputError where a key is missing or of another type.
Entries entries_of(const Json& saved) {
    Entries entries;
    for (const auto& slot : base::needed_list(saved, "slots")) {
        const auto text = [&](const char* key) { return base::needed_text(slot, key); };
        const auto variant = text("variant");
        Entry entry{text("plugin") + "/" + text("component") + (variant.empty() ? "" : "@" + variant) + " " +
                        text("version"),
                    text("content_hash"), base::needed(slot, "options").dump(),
                    base::needed(slot, "composed").dump()};
        entries[text("slot") + ", " + text("layers") + ", " + text("phase")] = std::move(entry);
    }
    return entries;
}

std::string difference(const Entry& saved, const Entry& now) {
    if (saved.choice != now.choice) return "saved " + saved.choice + ", now " + now.choice;
    if (saved.hash != now.hash) {
        return "the library of " + now.choice + " has changed: saved content hash " + saved.hash + ", now " +
               now.hash;
    }
    if (saved.options != now.options)
        return "options of " + now.choice + ": saved " + saved.options + ", now " + now.options;
    if (saved.composed != now.composed) {
        return "parts composed around " + now.choice + ": saved " + saved.composed + ", now " + now.composed;
    }
    return "";
}

std::vector<std::string> differences(const Entries& saved, const Entries& now) {
    std::vector<std::string> list;
    for (const auto& [place, entry] : saved) {
        const auto found = now.find(place);
        const auto text = found == now.end() ? "saved " + entry.choice + ", not in the plan now"
                                             : difference(entry, found->second);
        if (!text.empty()) list.push_back(place + ": " + text);
    }
    for (const auto& [place, entry] : now) {
        if (!saved.contains(place)) list.push_back(place + ": not saved, now " + entry.choice);
    }
    return list;
}

}  // namespace

std::string saved_plan_text(const Plan& plan) { return saved_json(plan).dump(2) + "\n"; }

SavedComparison compare_with_saved(const Plan& plan, const std::string& text) {
    try {
        const auto saved = base::parse_json(text);
        if (!saved.fault.empty()) throw base::InputError(saved.fault);
        const auto version = base::needed_integer(saved.value, "switchyard_plan");
        if (version != format_version) {
            return {"it is a saved plan of version " + std::to_string(version) +
                        ", this program reads version " + std::to_string(format_version),
                    {}};
        }
        return {"", differences(entries_of(saved.value), entries_of(saved_json(plan)))};
    } catch (const base::InputError& problem) {
        return {std::string("it is not a saved plan of `switchyard plan --save`: ") + problem.what(), {}};
    }
}

}  // namespace switchyard::resolver
