// Processes that others started, as /proc tells of them.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace switchyard::test {

// What is in /proc/PID/FILE; empty where the process has ended meanwhile.
std::string told_by_proc(pid_t process, const std::string& file);

std::vector<pid_t> all_processes();

// There is such a process, and it has not ended.
bool is_alive(pid_t process);

// An arm of a comparison, or one of its ranks; what looks for plugins before is none.
bool is_arm(pid_t process);

// Those alive that it started.
std::vector<pid_t> children_of(pid_t parent);

}  // namespace switchyard::test
