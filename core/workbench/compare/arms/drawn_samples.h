// The samples of a pass: those of the job, or random ones where it has none; and those that are evaluated.
#pragma once

#include <cstdint>
#include <memory>

#include "core/workbench/compare/arms/arm_server.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

// ArmServerOptions::samples of them; the same in all arms, which have the same data and the same seed.
data::SampleList drawn_samples(const train::Session& session, const ArmServerOptions& options);

// Those whose outputs are compared.
data::SampleList first_samples(const data::SampleList& samples);

// So many of these, drawn alike whatever the arm and the seed, and in their order; all where there are no
// more.
std::shared_ptr<const SampleSource> held_out_samples(std::shared_ptr<const SampleSource> all,
                                                     std::int64_t most);

}  // namespace switchyard::compare
