// What a profile says: where the time of a training step goes, by slot, layer and operator, what each reaches
// of the machine's roofs, which memory is live when, and what would help. Plain data.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/base/interval.h"
#include "core/workbench/profile/memory_profile.h"
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

// The best that this machine was seen to do, in this run or before.
struct Roofs {
    std::map<DType, double> products;          // operations a second
    std::map<DType, std::string> products_of;  // "tiles of 64 x 256 x 64"
    double read = 0.0;                         // bytes a second
    double copy = 0.0;                         // bytes read and written a second
};

// Shares of the roofs, of 1; what is not known is 0.
struct RoofShares {
    double products = 0.0, read = 0.0, copy = 0.0;
};

// Of one step, the mean of those that were observed.
struct Line {
    std::string name;
    double ms = 0.0;          // all of it
    double forward_ms = 0.0;  // the first run
    double again_ms = 0.0;    // forward once more, in backward
    double backward_ms = 0.0;
    double calls = 0.0;           // of components or operators, forward and all else
    double backward_calls = 0.0;  // of components: those that backward came to
    Cost cost;
    std::map<DType, double> flops;  // of `cost`, by what they are computed in
    std::string slot;               // of an operator: where most of its time is spent
};

RoofShares shares_of(const Line& line, const Roofs& roofs);

// What would help, and by how much.
struct Advice {
    std::string change;     // "attention.backend = \"flash\"": the line of the configuration
    double saves = 0.0;     // of a step's time, or of the time a sample takes, 0 to 1
    std::string why;        // in words
    bool measured = false;  // both were timed; else it is estimated from what was observed
};

// Components that could serve one row of the plan, timed on its request.
struct TimedComponent {
    std::string name;  // "torch/torch"
    double ms = 0.0;   // of a call
    // Of its 95 % interval; NaN: not known.
    double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
};
struct TimedUse {
    std::string kind;                        // "attention": the section of the configuration
    std::string use;                         // as in Profile::uses
    std::string chosen;                      // by name
    std::vector<TimedComponent> components;  // the chosen one among them
    std::string with{};  // a line of the configuration that the request goes by; empty: the job's own
};

struct Schedule {
    std::int64_t wait = 1, warmup = 1, active = 3, repeat = 2;
    std::int64_t steps() const { return repeat * (wait + warmup + active); }
};

struct Profile {
    Schedule schedule;
    std::int64_t steps = 0;                               // that were observed
    double step_ms = 0.0;                                 // mean of them
    double explained = 0.0;                               // of their time, 0 to 1: the mean
    double least_explained = 0.0;                         // of any of them
    double tokens = 0.0, samples = 0.0;                   // a step
    double padding = 0.0;                                 // share of the places in a batch
    double model_flops = 0.0;                             // a step, as mfu counts them; 0: not known
    std::vector<Line> slots, uses, layers, operators;     // the longest first
    std::vector<std::pair<std::string, double>> between;  // milliseconds between operators, by pass
    double between_ms() const;                            // of all passes
    base::Interval overhead;  // of observing, of 1: by pairs of steps on the same batches, one observed
    int pairs = 0;
    double event_us = 0.0;  // that observing one event takes, measured by itself
    double events = 0.0;    // a step
    Roofs roofs;
    MemoryProfile memory;
    std::vector<Advice> advice;   // what saves most first
    std::vector<TimedUse> timed;  // what it goes by
};

}  // namespace switchyard::profile
