// Who writes a run folder: one process at a time, which holds an advisory lock on the folder's file `.lock`.
// The kernel gives it back however the process ends. The file names the holder for the message; it stays,
// emptied, since to remove a file that others may just be opening would let two hold it.
#pragma once

#include <string>

namespace switchyard::train {

class RunLock {
public:
    RunLock() = default;
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    // Takes the lock of a folder that is there; `command` says to others what this process is. Empty if it
    // has it now or had it before, else a text that names the folder and who uses it. Where the file system
    // has no locks it goes on without.
    std::string take(const std::string& folder, const std::string& command);
    // Whether another process has it now. Asking takes the lock for a moment where a process was killed that
    // had it, which take() waits for, and leaves the file as it is.
    static bool is_held(const std::string& folder);
    // A line about a file system without locks; empty: the lock is held.
    const std::string& warning() const { return warning_; }

private:
    int descriptor_ = -1;
    std::string warning_;
};

}  // namespace switchyard::train
