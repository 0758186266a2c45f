// The threads of one block, each a fiber with a stack of its own, taking turns in one thread of the host.
//
// A turn ends where a thread has to wait for others: at a barrier of the block, or where the lanes of a warp
// meet. Warps run one after the other from barrier to barrier, in ascending or descending order, so that a
// kernel which lacks a barrier reads what is not there yet in one order or the other.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>

namespace switchyard::emulation {

// A kernel did what a device would punish with wrong numbers, a hang or an error.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct BlockShape {
    int threads = 0;  // a multiple of 32
    bool last_warp_first = false;
};

// Runs `body` in every thread. Throws Violation. Not reentrant.
void run_threads(const BlockShape& shape, const std::function<void()>& body);

// For what runs inside: the number of the running thread, and its waits.
int current_thread();
void wait_for_block();
// let the others run; whoever does so in a loop must be waiting for something that `made_progress` tells of
void give_way();
void made_progress();  // a hang is found by the lack of it
[[noreturn]] void violate(const char* what);

}  // namespace switchyard::emulation
