// The list of calls in progress on each thread: written by CallScope, read by the crash handler.
#pragma once

#include <atomic>

#include "core/kernel/runtime/guard.h"

namespace switchyard::runtime {

// One for each thread that ever made a guarded call; never freed, taken over by a later thread. So a signal
// handler can walk the list.
struct ThreadCalls {
    std::atomic<const CallScope*> innermost{nullptr};
    std::atomic<bool> taken{true};
    ThreadCalls* next = nullptr;
    void* signal_stack = nullptr;
};

// Head of the list of all threads.
ThreadCalls* all_thread_calls() noexcept;

// Gives this thread a stack for signal handlers, if it has none and crashes are handled at all.
void provide_signal_stack(ThreadCalls& calls) noexcept;
void release_signal_stack(ThreadCalls& calls) noexcept;

}  // namespace switchyard::runtime
