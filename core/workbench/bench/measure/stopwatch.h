// What a timed run reads the time from. Tests put a made-up clock here, so that none of them waits or depends
// on the machine.
#pragma once

#include <cstdint>
#include <functional>

namespace switchyard::compare {

class Stopwatch {
public:
    virtual ~Stopwatch() = default;

    // Milliseconds on a clock that never goes back, after all work given to a device is done.
    virtual double now_ms() = 0;
    // How often so far the system took a processor away from one of this process's threads while it wanted to
    // run, or -1 if unknown.
    virtual std::int64_t lost_slices() { return -1; }
};

// This machine: std::chrono::steady_clock, and the involuntary context switches of getrusage(2) where the
// kernel counts them. `synchronize` empties a device's queue; empty for the CPU.
class HostStopwatch final : public Stopwatch {
public:
    explicit HostStopwatch(std::function<void()> synchronize = {}) : synchronize_(std::move(synchronize)) {}
    double now_ms() override;
    std::int64_t lost_slices() override;

private:
    std::function<void()> synchronize_;
};

}  // namespace switchyard::compare
