// Configuration x plugins x host -> plan, in one call: outline, candidates, the precision policy's dtypes,
// resolver.
#pragma once

#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/resolver/resolver.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::model {

// Every component of every plugin whose manifest could be read. A plugin is loaded when one of its components
// is first asked. They refer to `registry`, which must outlive them.
std::vector<resolver::Candidate> candidates(runtime::Registry& registry);

// The precision slot is resolved first, and the policy that was chosen is made - for the CPU where it can be,
// so that this works for hosts that are only described - and asked for its dtypes. What cannot be served is a
// row with an error: plan.ok() tells. Names of layers that its options have are checked where the job trains
// and was not planned before: what a run has recorded stays usable.
enum class Planned { first, again };
resolver::Plan make_plan(const config::Config& config, runtime::Registry& registry, const HostInfo& host,
                         const resolver::ResolveOptions& options = {}, Planned planned = Planned::first);

}  // namespace switchyard::model
