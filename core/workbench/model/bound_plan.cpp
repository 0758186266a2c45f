#include "core/workbench/model/bound_plan.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/kernel/runtime/operations/bind.h"

namespace switchyard::model {

BoundPlan::BoundPlan(const resolver::Plan& plan, runtime::Registry& registry, const HostInfo& host)
    : plan_(plan) {
    for (const auto& row : plan_.rows) {
        visit(row.use.kind, [&]<class Traits>(Traits kind) {
            using Op = decltype(runtime::operation_of(kind));
            if constexpr (!std::is_void_v<Op>) {
                const auto op = std::make_shared<const Op>(bind<Op>(row, registry, host));
                rows_.push_back({&row, op, &op->binding()});
                if constexpr (Traits::kind == Kind::precision) precision_ = op;
            }
        });
    }
    if (!precision_) throw std::logic_error("the plan has no precision policy");
}

const runtime::Operation& BoundPlan::find(std::string_view slot, Phase phase, std::string_view layers,
                                          const config::LayerId* layer) const {
    for (const auto& [row, operation, binding] : rows_) {
        const auto& use = row->use;
        if (!use.stands_for(slot) || use.phase != phase) continue;
        const auto& ids = use.layer_ids;
        if (layer == nullptr ? ids.empty() && use.layers == layers
                             : std::find(ids.begin(), ids.end(), *layer) != ids.end())
            return operation;
    }
    throw std::logic_error("the plan has no " + std::string(slot) + " of " + std::string(layers) +
                           " for the phase " + std::string(name(phase)));
}

const runtime::AttentionOp& BoundPlan::attention(std::string_view slot, Phase phase,
                                                 const config::LayerId& layer) const {
    return *std::get<std::shared_ptr<const runtime::AttentionOp>>(
        find(slot, phase, config::to_string(layer), &layer));
}

std::vector<const runtime::BindingBase*> BoundPlan::bindings(Phase phase) const {
    std::vector<const runtime::BindingBase*> all;
    for (const auto& [row, operation, binding] : rows_) {
        if (row->use.phase == phase || row->use.kind == Kind::precision) all.push_back(binding);
    }
    return all;
}

std::vector<Executed> BoundPlan::executed() const {
    std::vector<Executed> all;
    for (const auto& [row, operation, binding] : rows_) {
        all.push_back({row->use.slot, row->use.layers, row->use.phase, binding->plugin(),
                       binding->component(), binding->executed().calls()});
    }
    return all;
}

}  // namespace switchyard::model
