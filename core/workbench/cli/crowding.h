// Tells, once, that other programs take the processors from a training.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/workbench/bench/measure/other_work.h"
#include "core/workbench/bench/measure/stopwatch.h"

namespace switchyard::cli {

// Over a span of training.
struct Crowding {
    double seconds = 0.0;
    double share_of_others = 0.0;    // of the processors' time
    std::int64_t interruptions = 0;  // of this process's threads, by the scheduler
};

// "" unless others have more than a quarter of the processors and the threads are interrupted for it, more
// than ten times a second. `threads`: of this process.
std::string crowding_warning(const Crowding& crowding, int threads);

// With the processor time of as many processes like this one counted as its own: other ranks of its training
// are no others.
std::optional<bench::ProcessorTimes> times_of_ranks(std::optional<bench::ProcessorTimes> times,
                                                    std::int64_t ranks);

class CrowdingWatch {
public:
    // `ranks`: of this training, on this machine.
    CrowdingWatch(int threads, std::int64_t ranks) : threads_(threads), ranks_(ranks) {}
    // After a step: the warning, if it is due and was not given yet.
    std::string look();

private:
    using Clock = std::chrono::steady_clock;
    int threads_;
    std::int64_t ranks_;
    bool told_ = false;
    Clock::time_point since_ = Clock::now();
    bench::HostStopwatch stopwatch_;
    std::int64_t interruptions_ = stopwatch_.involuntary_switches();
    std::optional<bench::ProcessorTimes> times_ = times_of_ranks(bench::processor_times(), ranks_);
};

}  // namespace switchyard::cli
