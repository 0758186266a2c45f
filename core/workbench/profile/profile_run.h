// Runs a job's training steps as `train` does, and observes some of them.
//
// In each repeat `wait` steps run as they are, `warmup` are observed and forgotten, and `active` are observed
// and kept. With each of those goes a second step over the same batches that nobody observes, before it or
// after it in turn: what observing costs is the ratio of the two. At the end one more step tells of memory.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/workbench/profile/memory_profile.h"
#include "core/workbench/profile/profile.h"
#include "core/workbench/profile/recording.h"
#include "core/workbench/train/session.h"

namespace switchyard::profile {

struct ProfileRun {
    std::vector<Recording> steps;                     // the active ones
    // Milliseconds, observed and not, without making batches: of the thread that runs the step.
    std::vector<std::pair<double, double>> pairs;
    double tokens = 0.0, samples = 0.0, places = 0.0;  // of the active ones together
    double model_flops = 0.0;                         // of them; 0: not known
    Cost optimizer;                                   // of one step, by its contract
    Recording memory_step;
    MemoryRecording memory;
    std::string nonfinite;  // what was not finite, and ended it; empty: nothing
    bool stopped = false;
};

struct RunHooks {
    std::function<void(std::int64_t done, std::int64_t all)> progress;
    std::function<bool()> stop;  // asked before each step
};

ProfileRun run_profile(train::Session& session, train::Trainer& trainer, const Schedule& schedule,
                       const RunHooks& hooks);

// Microseconds of a processor that observing one operator takes: the best of some turns, with and without.
double observing_microseconds();

// A summary of it; without roofs, memory and advice.
Profile summarize(const ProfileRun& run, const Schedule& schedule);

}  // namespace switchyard::profile
