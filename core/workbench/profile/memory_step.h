// One training step, observed for what its memory is for.
#pragma once

#include <vector>

#include "core/workbench/profile/memory_profile.h"
#include "core/workbench/profile/observed_step.h"
#include "core/workbench/profile/recording.h"
#include "core/workbench/train/session.h"

namespace switchyard::profile {

struct MemoryStep {
    Recording recording;
    MemoryRecording memory;
    Cost optimizer;  // of the step, by its contract
    train::StepReport report;
};

// A step as any other, but that it is slower. Of one process that does not replay it from a graph.
MemoryStep memory_step(train::Session& session, train::Trainer& trainer, std::vector<Batch> batches);

// `points`: of its time line, at most, and two more.
ObservedStep observed(const MemoryStep& step, std::size_t points);

}  // namespace switchyard::profile
