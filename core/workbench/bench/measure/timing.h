// Times competing callables against each other: interleaved in randomised blocks, warmed up, with outlier
// samples thrown away and counted.
//
// One block holds one sample of every arm, in an order drawn anew, so that whatever changes slowly (clock,
// temperature, a neighbour) hits all arms alike, and no arm always runs in the wake of the same other. One
// sample is `calls_per_sample` calls, as many as it takes to last `min_sample_ms`: the clock's and the
// scheduler's grain then do not show. The number of blocks is fixed after the warm-up from the time that is
// allowed, never from the results: stopping when an interval looks good would make it too narrow. Compare
// Kalibera & Jones 2013 for the levels of repetition, and what known tools do: Criterion.rs and hyperfine
// warm up and flag outliers, nvbench and torch.utils.benchmark choose repetitions by time; none of these runs
// the competitors in turn, which is what makes ratios precise on a shared machine.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/bench/measure/stopwatch.h"

namespace switchyard::bench {

// A competitor. `run` is one call; it may throw, which ends the timing.
struct Arm {
    std::string name;
    std::function<void()> run;
};

struct TimingOptions {
    double time_budget_ms = 3000.0;  // for all arms together, warm-up included; min_blocks goes before it
    int min_blocks = 9;
    int max_blocks = 60;
    double min_sample_ms = 4.0;
    double warm_up_ms = 20.0;  // of each arm, at least two calls
    std::uint64_t seed = 0;    // of the order and of the bootstrap
};

// One arm in one block.
struct TimedSample {
    int position = 0;                       // in its block, from 0
    double ms = 0.0;                        // of one call
    std::int64_t involuntary_switches = 0;  // while it ran; -1 unknown
    bool outlier = false;
};

struct ArmTiming {
    std::string name;
    int calls_per_sample = 1;
    std::vector<TimedSample> samples;             // one a block
    std::vector<std::optional<double>> block_ms;  // the same without outliers
    int outliers = 0;
    Interval ms;  // of one call
};

struct TimingResult {
    std::vector<ArmTiming> arms;  // in the order given
    int blocks = 0;
    double elapsed_ms = 0.0;
    std::uint64_t seed = 0;

    Interval speedup_of(std::size_t arm, std::size_t base) const;
    int outliers() const;
};

TimingResult time_arms(const std::vector<Arm>& arms, const TimingOptions& options, Stopwatch& stopwatch);

// How many blocks of `block_ms` fit into what is left, within these bounds.
int fitting_blocks(double left_ms, double block_ms, int least, int most);

// Marks outliers, the samples that another process slowed down: on a busy machine a parallel region loses a
// scheduler slice of several milliseconds. A sample is an outlier if it took long for its arm (modified
// z-score above 3.5, and at least 5 % over the median) and the kernel counted an involuntary context switch
// meanwhile, or if it took so long (z above 8, 25 % over the median) that this alone decides. Where that
// would mark more than a quarter of an arm's samples, the arm runs like this here: none is marked.
void mark_outliers(std::vector<TimedSample>& samples);

}  // namespace switchyard::bench
