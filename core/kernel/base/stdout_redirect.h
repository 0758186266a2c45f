// Keeps what plugins print apart from what a command prints. Plugins share this process's standard output,
// but it belongs to the command: somebody may be reading JSON from it.
#pragma once

namespace switchyard::base {

// While one lives, what is written to the standard output - through C, through C++ or to descriptor 1 - goes
// to the standard error. They nest, on any threads: the first turns it aside and the last one turns it back.
// What other threads print meanwhile goes there, too.
// A few system calls each.
class StdoutRedirect {
public:
    StdoutRedirect() noexcept;
    ~StdoutRedirect() noexcept;
    StdoutRedirect(const StdoutRedirect&) = delete;
    StdoutRedirect& operator=(const StdoutRedirect&) = delete;
};

// The same until the process ends, static objects of plugins included. Returns a descriptor of the standard
// output as it was, which is not inherited by other programs; -1 if there is none.
int redirect_stdout_for_good() noexcept;

}  // namespace switchyard::base
