#include "core/kernel/resolver/lock.h"

#include <map>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/resolver/plan_json.h"

namespace switchyard::resolver {
namespace {

using Json = nlohmann::ordered_json;

constexpr int lock_version = 1;

struct Entry {
    std::string choice;  // "torch/torch@flash 1.0.0"
    std::string hash;
    std::string options;  // JSON text
    std::string composed;
};
using Entries = std::map<std::string, Entry>;  // by "attention, encoder.0-5, train"

Json locked_slot(const PlanRow& row) {
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

Json lock_json(const Plan& plan) {
    Json slots = Json::array();
    for (const auto& row : plan.rows) {
        if (row.chosen) slots.push_back(locked_slot(row));
    }
    return {{"switchyard_lock", lock_version}, {"host", plan.host.name}, {"slots", slots}};
}

// Throws InputError where a key is missing or of another type.
Entries entries_of(const Json& lock) {
    Entries entries;
    for (const auto& slot : base::needed_list(lock, "slots")) {
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

std::string difference(const Entry& locked, const Entry& now) {
    if (locked.choice != now.choice) return "locked " + locked.choice + ", now " + now.choice;
    if (locked.hash != now.hash) {
        return "the library of " + now.choice + " has changed: locked content hash " + locked.hash +
               ", now " + now.hash;
    }
    if (locked.options != now.options)
        return "options of " + now.choice + ": locked " + locked.options + ", now " + now.options;
    if (locked.composed != now.composed) {
        return "parts composed around " + now.choice + ": locked " + locked.composed + ", now " +
               now.composed;
    }
    return "";
}

std::vector<std::string> differences(const Entries& locked, const Entries& now) {
    std::vector<std::string> list;
    for (const auto& [place, entry] : locked) {
        const auto found = now.find(place);
        const auto text = found == now.end() ? "locked " + entry.choice + ", not in the plan now"
                                             : difference(entry, found->second);
        if (!text.empty()) list.push_back(place + ": " + text);
    }
    for (const auto& [place, entry] : now) {
        if (!locked.contains(place)) list.push_back(place + ": not locked, now " + entry.choice);
    }
    return list;
}

}  // namespace

std::string lock_text(const Plan& plan) { return lock_json(plan).dump(2) + "\n"; }

LockComparison compare_with_lock(const Plan& plan, const std::string& text) {
    try {
        const auto lock = base::parse_json(text);
        if (!lock.fault.empty()) throw base::InputError(lock.fault);
        const auto version = base::needed_integer(lock.value, "switchyard_lock");
        if (version != lock_version) {
            return {"it is a lock file of version " + std::to_string(version) +
                        ", this program reads version " + std::to_string(lock_version),
                    {}};
        }
        return {"", differences(entries_of(lock.value), entries_of(lock_json(plan)))};
    } catch (const base::InputError& problem) {
        return {std::string("it is not a lock file of `switchyard plan --lock`: ") + problem.what(), {}};
    }
}

}  // namespace switchyard::resolver
