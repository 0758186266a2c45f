// Can the structure that a library exports be used, and has it the components that its manifest announced?
#pragma once

#include <switchyard/interfaces/plugin_abi.h>
#include "core/kernel/loader/plugin_record.h"

namespace switchyard::loader {

// The outcome of Gate::descriptor: the first thing that is wrong.
GateOutcome check_descriptor(const SwitchyardPlugin& descriptor, const Manifest& manifest);

}  // namespace switchyard::loader
