// Ctrl-C, SIGTERM and SIGHUP. While there is nothing to save the first one ends the process at once, with the
// exit code by which a shell names it (128 + the signal: 130, 143, 129); from note() on it is a flag that
// long work looks at between steps, so that it stops cleanly. A second one, the same or another, then ends
// the process at once by that signal, as if it were not handled. Files that lie aside when a signal ends the
// process are removed (atomic_file.h). The same signal from the process that started this one and from
// another one is one: who signals all processes of a job signals the launcher too, which hands that on.
//
// A signal that whoever started the process has it ignore (nohup, a shell's background job) stays ignored.
#pragma once

namespace switchyard::train {

// Handles them while it lives; one at a time in a process.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    // From here on the first signal is noted.
    void note();
    // From here on a signal ends the process at once again: all is saved.
    void end_at_once();

    // The signal that was noted, 0 if none was.
    int received() const;
    explicit operator bool() const { return received() != 0; }
    // Of a process that was stopped by the noted signal.
    int exit_code() const { return 128 + received(); }
};

}  // namespace switchyard::train
