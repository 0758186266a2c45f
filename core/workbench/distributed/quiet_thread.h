// A thread that no signal is handed to: those that are sent to the process reach the threads that were there.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

#include <pthread.h>

namespace switchyard::distributed {

template <class Act>
std::thread start_quiet_thread(Act act) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);  // a new thread begins with the mask of who starts it
    try {
        std::thread thread(std::move(act));
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

}  // namespace switchyard::distributed
