// How much memory a call needs beyond what was there before it.
#pragma once

#include <cstdint>
#include <functional>

#include <c10/core/Device.h>

namespace switchyard::bench {

// Peak of live tensor bytes during `run`, less those that were live before: outputs and temporaries alike.
// CPU: counted by the core's allocator, which must be installed ("core/kernel/machine/cpu_allocator.h");
// other devices: by LibTorch's caching allocator.
std::int64_t extra_memory(const std::function<void()>& run, c10::Device device);

// Since the last reset, live tensor bytes at their most: by the same two counters.
void reset_peak_memory(c10::Device device);
std::int64_t peak_memory(c10::Device device);

// Waits until all work given to the device is done. Nothing to do for the CPU.
void synchronize(c10::Device device);

}  // namespace switchyard::bench
