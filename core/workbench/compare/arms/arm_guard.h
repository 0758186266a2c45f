// Makes sure that no arm outlives its coordinator, however that ends.
//
// A process of its own that does nothing but read a pipe from the coordinator: when the pipe closes - the
// coordinator has ended, or was killed by a signal that nobody can catch -, it kills the process groups that
// it was told of, with all that the arms have started in them, and removes the folder of the comparison.
//
// No LibTorch here.
#pragma once

#include <string>

#include <sys/types.h>

namespace switchyard::compare {

class ArmGuard {
public:
    // Before other threads are there. `folder`: removed with all that is in it; may be empty.
    explicit ArmGuard(std::string folder);
    ~ArmGuard();
    ArmGuard(const ArmGuard&) = delete;
    ArmGuard& operator=(const ArmGuard&) = delete;

    // Takes the number of a process group, a long, that is to be killed (`base::Program::tells`): the group's
    // first process tells it before it starts anything. -1: it could not be made.
    int pipe() const { return pipe_; }
    // Before the group's leader has been waited for: later its number may be another's.
    void forget(pid_t group);

private:
    int pipe_ = -1;
    pid_t child_ = -1;
};

}  // namespace switchyard::compare
