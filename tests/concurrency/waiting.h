// Where in the kernel a process waits, as /proc tells (proc_pid_wchan(5)).
#pragma once

#include <sys/types.h>

namespace switchyard::test {

// Whether it has opened a FIFO whose other end nobody has opened.
bool waits_for_other_end(pid_t process);

// Some systems show no process's waiting place.
bool system_says_where_processes_wait();

}  // namespace switchyard::test
