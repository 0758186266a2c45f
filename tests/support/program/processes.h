// Processes that others started, as /proc tells of them.
#pragma once

#include <vector>

#include <sys/types.h>

namespace switchyard::test {

// There is such a process, and it has not ended.
bool is_alive(pid_t process);

// Those alive that it started.
std::vector<pid_t> children_of(pid_t parent);

}  // namespace switchyard::test
