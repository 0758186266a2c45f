// How much other programs used the processors while something was timed.
#pragma once

#include <optional>
#include <string>

namespace switchyard::bench {

// Seconds since the machine was started, summed over its processors, and since this process was.
struct ProcessorTimes {
    double busy = 0.0;  // of all programs, and what a hypervisor took away
    double idle = 0.0;
    double own = 0.0;  // of this process, all threads
    // By how much busy may be off: it is counted in ticks of 10 ms, for each processor by itself.
    double inexact = 0.0;
};

// Of the text of /proc/stat (proc(5)); nothing where it has no line "cpu". `ticks`: in a second.
std::optional<ProcessorTimes> read_processor_times(const std::string& stat, double own_seconds, double ticks);

// Now, on this machine.
std::optional<ProcessorTimes> processor_times();

// The share of all processor time in between that certainly went to others, 0 to 1. 0 where a quarter of it
// or more was left idle, for then nobody had to wait, where less than a tenth of a second of it has passed,
// and where nothing is known.
double share_of_others(const std::optional<ProcessorTimes>& from, const std::optional<ProcessorTimes>& to);

// Above it times are disturbed.
inline constexpr double undisturbed_share = 0.1;

}  // namespace switchyard::bench
