// Which components of a plan are known to be slow where it runs.
#pragma once

#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::model {

// Makes every component that was chosen for 16-bit floats on a CPU, and not for its measured times, as the
// model would, and asks it (slow_here_property); a warning for each reason, at the first slot that it is of,
// with the number of all.
void warn_of_slow_components(resolver::Plan& plan, runtime::Registry& registry, const HostInfo& host);

}  // namespace switchyard::model
