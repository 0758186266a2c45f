// What a user sees when a plugin's code crashes the process after all gates: which plugin, which component,
// which call.
//
// exit() from within a call is told likewise, and the exit code is 1 then, whatever the plugin says: who
// asked for the program would take 0 for success. _exit() cannot be seen from within.
//
// On SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT one line goes to standard error, written with
// async-signal-safe calls only, and then the signal does what it would have done. A crash on a thread without
// a guarded call of its own (a worker of a parallel loop) names the calls that are in progress on the other
// threads.
#pragma once

namespace switchyard::runtime {

// Once, by a program's main. A stack overflow is told too, on threads that made a guarded call.
void install_crash_handler();

}  // namespace switchyard::runtime
