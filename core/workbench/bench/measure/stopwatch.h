// The clock of a timed run. Tests put in a fake one, so that none of them waits or depends on the machine.
#pragma once

#include <cstdint>
#include <functional>

namespace switchyard::bench {

class Stopwatch {
public:
    virtual ~Stopwatch() = default;

    // Milliseconds on a clock that never goes back, after all work given to a device is done.
    virtual double now_ms() = 0;
    // Involuntary context switches of this process so far: how often the kernel took a processor away from
    // one of its threads. -1 if unknown.
    virtual std::int64_t involuntary_switches() { return -1; }
};

// This machine: std::chrono::steady_clock, and the involuntary context switches of getrusage(2) where the
// kernel counts them. `synchronize` empties a device's queue; empty for the CPU.
class HostStopwatch final : public Stopwatch {
public:
    explicit HostStopwatch(std::function<void()> synchronize = {}) : synchronize_(std::move(synchronize)) {}
    double now_ms() override;
    std::int64_t involuntary_switches() override;

private:
    std::function<void()> synchronize_;
};

// Makes what began then take longer, by that share of the time that it took. Computing, as slower work would:
// a processor that sleeps becomes slower.
void take_longer(Stopwatch& clock, double start_ms, double share);

}  // namespace switchyard::bench
