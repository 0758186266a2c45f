#include "core/workbench/model/slow_components.h"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include "core/kernel/base/number_text.h"
#include "core/workbench/model/component_answer.h"

namespace switchyard::model {
namespace {

struct Slow {
    std::string component;  // "torch/torch"
    std::string reason;
    std::vector<std::string> slots;
    std::vector<resolver::PlanRow*> rows;  // of the first slot, in all phases
};

// Empty: nothing is known. What cannot be asked fails where it is made for the model, with its reason.
std::string slow_because(const resolver::PlanRow& row, runtime::Registry& registry, const HostInfo& host) {
    try {
        return component_answer(row, registry, host, slow_here_property).value_or("");
    } catch (const std::exception&) {
        return "";
    }
}

void add_slow(std::vector<Slow>& all, resolver::PlanRow& row, const std::string& reason) {
    const auto component = row.chosen->plugin + "/" + row.chosen->component;
    auto same = std::ranges::find_if(
        all, [&](const Slow& slow) { return slow.component == component && slow.reason == reason; });
    if (same == all.end()) same = all.insert(all.end(), {component, reason, {}, {}});
    if (std::ranges::find(same->slots, row.use.slot) == same->slots.end())
        same->slots.push_back(row.use.slot);
    if (row.use.slot == same->slots.front()) same->rows.push_back(&row);
}

}  // namespace

void warn_of_slow_components(resolver::Plan& plan, runtime::Registry& registry, const HostInfo& host) {
    std::vector<Slow> all;
    for (auto& row : plan.rows) {
        if (!row.chosen || row.measured || row.chosen->request->device != Device::cpu) continue;
        const auto dtype = row.chosen->request->dtype;
        if (dtype != DType::bfloat16 && dtype != DType::float16) continue;
        if (const auto reason = slow_because(row, registry, host); !reason.empty())
            add_slow(all, row, reason);
    }
    for (const auto& slow : all) {
        const auto others = slow.slots.size() - 1;
        const auto text = slow.component + " in " + slow.slots.front() +
                          (others == 0 ? "" : " and " + base::counted(others, "other slot")) + ": " +
                          slow.reason;
        for (auto* const row : slow.rows) row->warnings.push_back(text);
    }
}

}  // namespace switchyard::model
