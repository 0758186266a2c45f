// What takes the place of `kernel<<<blocks, threads, shared, stream>>>(arguments)`, and how it knows whether
// the host code has done what goes before a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace switchyard::emulation {

// Guards of a device that are alive: a launch without one goes to whatever device is current.
int& guards();

// The one current stream: work in any other would not wait for what LibTorch has queued.
void* current_stream();

// Runs the kernel in every thread of every block; throws Violation. What a device would refuse is what
// take_error then returns.
void start(const std::function<void()>& kernel, std::int64_t blocks, int threads, std::size_t shared,
           void* stream);

// Whether the last launch was refused; asked once.
bool take_error();

// Launches that nobody has asked the outcome of.
int unchecked();

}  // namespace switchyard::emulation
