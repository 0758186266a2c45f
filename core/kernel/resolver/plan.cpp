#include "core/kernel/resolver/plan.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/kernel/resolver/plan_json.h"
#include "core/kernel/resolver/request_fields.h"

namespace switchyard::resolver {
namespace {

template <class Component>
std::string name_with_variant(const Component& component) {
    return component.plugin + "/" + component.component +
           (component.variant.empty() ? "" : "@" + component.variant);
}

}  // namespace

std::string full_name(const Chosen& chosen) { return name_with_variant(chosen); }
std::string full_name(const CandidateOutcome& outcome) { return name_with_variant(outcome); }

std::vector<std::string> single_slots(std::string_view slot) {
    const auto last = slot.rfind('.');
    const std::string module(last == std::string_view::npos ? "" : slot.substr(0, last + 1));
    std::vector<std::string> slots;
    for (auto rest = slot.substr(module.size());;) {
        const auto comma = std::min(rest.find(','), rest.size());
        slots.push_back(module + std::string(rest.substr(0, comma)));
        if (comma == rest.size()) return slots;
        rest.remove_prefix(comma + 1);
    }
}

std::string SlotUse::key() const {
    return std::string(name(kind)) + (shadow ? ".shadow.backend" : ".backend");
}

std::string use_in_words(Kind kind, const Chosen& chosen) {
    auto text = in_words(kind, *chosen.request);
    if (!chosen.variant.empty()) text += ", variant " + chosen.variant;
    if (!chosen.options.values().empty()) text += ", options " + to_json(chosen.options).dump();
    return text;
}

bool Plan::ok() const {
    bool served = true;
    for_each_row([&](const PlanRow& row) { served = served && row.chosen.has_value(); });
    return served;
}

std::vector<std::string> Plan::unverified() const {
    std::vector<std::string> names;
    for_each_row([&](const PlanRow& row) {
        if (!row.chosen || row.chosen->verification != loader::Verification::unverified) return;
        auto name = row.chosen->plugin + "/" + row.chosen->component;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    });
    return names;
}

const PlanRow* Plan::shadow_of(const PlanRow& row) const {
    if (row.use.phase != Phase::train) return nullptr;
    const auto found = std::find_if(shadows.begin(), shadows.end(), [&](const PlanRow& shadow) {
        return shadow.use.slot == row.use.slot && shadow.use.layers == row.use.layers;
    });
    return found == shadows.end() ? nullptr : &*found;
}

const PlanRow* Plan::find(std::string_view slot, Phase phase, const config::LayerId* layer) const {
    for (const auto& row : rows) {
        if (row.use.slot != slot || row.use.phase != phase) continue;
        const auto& ids = row.use.layer_ids;
        const bool fits =
            layer == nullptr ? ids.empty() : std::find(ids.begin(), ids.end(), *layer) != ids.end();
        if (fits) return &row;
    }
    return nullptr;
}

}  // namespace switchyard::resolver
