// From a row of the plan to something that can be called:
//
//     const auto attention = runtime::bind<runtime::AttentionOp>(row, registry, host);
//     const AttentionOutputs outputs = attention({.q = q, .k = k, .v = v}, params);
#pragma once

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::runtime {

// The component that the row chose, loaded if it was not yet. Throws std::runtime_error with the gate's
// reason if it cannot be loaded, std::logic_error for a row in which nothing was chosen or that is of another
// kind.
LoadedComponent load(const resolver::PlanRow& row, Registry& registry);

// What the component is created for. `host` must outlive all bindings.
BindingInfo binding_info(const resolver::PlanRow& row, const HostInfo& host);

template <class Operation>
Operation bind(const resolver::PlanRow& row, Registry& registry, const HostInfo& host) {
    const LoadedComponent loaded = load(row, registry);
    return Operation(loaded, binding_info(row, host), row.chosen->composed);
}

}  // namespace switchyard::runtime
