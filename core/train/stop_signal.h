// Ctrl-C and SIGTERM as a flag that long work looks at between steps, so that it stops cleanly. A second one, the same or the other, ends the process at once
// by that signal, as if it were not handled.
#pragma once

namespace switchyard::train {

// Handles SIGINT and SIGTERM while it lives; one at a time in a process.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    // The signal that came first, 0 if none did.
    int received() const;
    explicit operator bool() const { return received() != 0; }
};

}  // namespace switchyard::train
