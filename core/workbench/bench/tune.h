// Times the candidates for one use of a model against each other: what `auto` chooses by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/resolver/measurement.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/bench/measure/stopwatch.h"

namespace switchyard::bench {

struct TuneOptions {
    double time_budget_ms = 200.0;  // for the candidates that are close to each other; slow calls take longer
    double far_behind =
        3.0;  // who takes so many times as long as the fastest, each in its best first call, is not timed on
    int first_calls = 6;  // after one that is not timed; fewer where they take long, but two
    std::uint64_t seed = 1;
};

struct Tuned {
    resolver::Measurement measurement;
    // A candidate is out because there was no memory for it, of which there may be more another time: what
    // was measured holds for now.
    bool lacked_memory = false;
};

// `candidates` all conform to the use. Each is bound as a model would bind it, to the use's own request, and
// called on the problem of that request (request_problem.h): forward and backward where the use needs
// gradients, a step of an optimizer. Who throws, or gives what is not finite or four times as wrong as the
// bench allows, has a failure and no time. LibTorch's random generator is left where it was. Class and
// candidates of the result are filled in; host and date are the caller's.
Tuned measure(const resolver::SlotUse& use, const std::vector<resolver::Candidate>& candidates,
              runtime::Registry& registry, const HostInfo& host, Stopwatch& stopwatch,
              const TuneOptions& options = {});

}  // namespace switchyard::bench
