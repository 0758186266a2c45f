// The samples of a pass: those of the job, or random ones where it has none.
#pragma once

#include "core/workbench/compare/arms/arm_server.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

// ArmServerOptions::samples of them; the same in all arms, which have the same data and the same seed.
data::SampleList drawn_samples(const train::Session& session, const ArmServerOptions& options);

// Those whose outputs are compared.
data::SampleList first_samples(const data::SampleList& samples);

}  // namespace switchyard::compare
