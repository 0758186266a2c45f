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

class CrowdingWatch {
public:
    explicit CrowdingWatch(int threads) : threads_(threads) {}
    // After a step: the warning, if it is due and was not given yet.
    std::string look();

private:
    using Clock = std::chrono::steady_clock;
    int threads_;
    bool told_ = false;
    Clock::time_point since_ = Clock::now();
    bench::HostStopwatch stopwatch_;
    std::int64_t interruptions_ = stopwatch_.involuntary_switches();
    std::optional<bench::ProcessorTimes> times_ = bench::processor_times();
};

}  // namespace switchyard::cli
