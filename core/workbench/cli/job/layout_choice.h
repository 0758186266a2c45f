// What `batch.layout = "auto"` becomes: the layout in which samples of the job take less time, forward and
// backward, with the backends that each layout would get.
#pragma once

#include <string>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/job/auto_choice.h"

namespace switchyard::cli {

// Sets the layout of a configuration that leaves it to auto, and says what it is and why: "packed (auto: 1.63
// [1.58, 1.70] times as fast as padded, measured ...)"; empty for a configuration that names one. Where both
// layouts can be planned and have not been timed for this job on this host, Missing::measure reads the job's
// data and times them in turns. Padded stands in where nothing is known, and where packed is not faster.
// `recorded`: plan.json of a run that goes on, whose layout stays; empty: none.
std::string decide_layout(config::Config& config, runtime::Registry& registry, const HostInfo& host,
                          Missing missing, const std::string& recorded = "");

// Says it in the rows of the data loader, unless it is empty.
void note_layout(resolver::Plan& plan, const std::string& how);

}  // namespace switchyard::cli
