#include "core/workbench/bench/measure/stopwatch.h"

#include <sys/resource.h>

#include <chrono>

namespace switchyard::bench {

double HostStopwatch::now_ms() {
    if (synchronize_) synchronize_();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::int64_t HostStopwatch::involuntary_switches() {
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return -1;  // of all threads: a parallel region waits for its slowest
    return usage.ru_nivcsw;
}

void take_longer(Stopwatch& clock, double start_ms, double share) {
    if (share <= 0.0) return;
    const double now = clock.now_ms(), end = now + share * (now - start_ms);
    while (clock.now_ms() < end) {
    }
}

}  // namespace switchyard::bench
