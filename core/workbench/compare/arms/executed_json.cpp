#include "core/workbench/compare/arms/executed_json.h"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace switchyard::compare {
namespace {

std::uint64_t calls_then(const std::vector<model::Executed>& before, std::size_t row,
                         const std::string& variant) {
    if (row >= before.size()) return 0;
    const auto found = before[row].calls.find(variant);
    return found == before[row].calls.end() ? 0 : found->second;
}

// To the row that differs in its calls alone, or as one more.
void add_calls(nlohmann::ordered_json& rows, const nlohmann::ordered_json& row) {
    const auto same = std::ranges::find_if(rows, [&](auto other) {
        other["calls"] = row["calls"];
        return other == row;
    });
    if (same == rows.end())
        rows.push_back(row);
    else
        (*same)["calls"] = (*same)["calls"].get<std::uint64_t>() + row["calls"].get<std::uint64_t>();
}

}  // namespace

nlohmann::ordered_json executed_json(const std::vector<model::Executed>& executed,
                                     const std::vector<model::Executed>& before) {
    auto slots = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < executed.size(); ++i) {
        const auto& row = executed[i];
        for (const auto& [variant, calls] : row.calls) {
            const auto made = calls - calls_then(before, i, variant);
            if (made == 0) continue;
            slots[row.slot].push_back({{"component", row.component},
                                       {"plugin", row.plugin},
                                       {"variant", variant},
                                       {"layers", row.layers},
                                       {"phase", name(row.phase)},
                                       {"calls", made}});
        }
    }
    return slots;
}

nlohmann::ordered_json joined(const std::vector<nlohmann::ordered_json>& all) {
    auto slots = nlohmann::ordered_json::object();
    for (const auto& one : all)
        for (const auto& [slot, rows] : one.items())
            for (const auto& row : rows) add_calls(slots[slot], row);
    return slots;
}

}  // namespace switchyard::compare
