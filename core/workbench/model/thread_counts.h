// Which slots of a deterministic plan may give other bits with another number of threads.
#pragma once

#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::model {

// Makes every component that was chosen for a CPU, as the model would, and asks it (thread_counts_property);
// a note for each row whose component does not promise it, or around which the core does what LibTorch's
// operators sum up. Batches are a function of seed and epoch by contract: nobody asks for them.
void note_thread_counts(resolver::Plan& plan, runtime::Registry& registry, const HostInfo& host);

}  // namespace switchyard::model
