#include "core/kernel/runtime/operations/bind.h"

#include <stdexcept>

namespace switchyard::runtime {

LoadedComponent load(const resolver::PlanRow& row, Registry& registry) {
    if (!row.chosen)
        throw std::logic_error(row.use.slot + " for " + row.use.layers + ": the plan chose no component");
    const resolver::Chosen& chosen = *row.chosen;
    auto loaded = registry.find(row.use.kind, chosen.plugin, chosen.component);
    if (loaded) return *std::move(loaded);
    const loader::PluginRecord* const record = registry.find(chosen.plugin);
    const loader::GateOutcome* const failure = record == nullptr ? nullptr : record->failure();
    throw std::runtime_error(row.use.slot + ": plugin '" + chosen.plugin + "', component '" +
                             chosen.component + "' cannot be loaded from " + chosen.library_path +
                             (failure == nullptr ? ": it is not there any more" : ": " + failure->reason));
}

BindingInfo binding_info(const resolver::PlanRow& row, const HostInfo& host) {
    BindingInfo info;
    info.slot = row.use.slot;
    info.request = row.chosen->request;
    info.variant = row.chosen->variant;
    info.options = row.chosen->options;
    info.host = &host;
    return info;
}

}  // namespace switchyard::runtime
