// What the component that a plan has chosen answers to a question of
// <switchyard/interfaces/component_property.h>.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::model {

// Makes it as the model would. nullopt: it answers nothing. Throws where it cannot be loaded or made. `row`
// has a chosen component.
std::optional<std::string> component_answer(const resolver::PlanRow& row, runtime::Registry& registry,
                                            const HostInfo& host, std::string_view question);

}  // namespace switchyard::model
