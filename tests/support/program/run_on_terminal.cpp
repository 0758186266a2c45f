#include "run_on_terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include <switchyard_test.h>

namespace switchyard::test {

Outcome run_on_terminal(const std::vector<std::string>& arguments, const RunOptions& options) {
    const auto program = (build_dir() / "bin/switchyard").string();
    RunOptions own = options;
    own.folder = temporary_dir("terminal").string();
    if (own.input.empty()) own.input = "/dev/null";
    own.environment.try_emplace("NO_COLOR", "");  // set to nothing it says nothing
    own.environment.try_emplace("TERM", "xterm");
    int terminal = -1, programs = -1;
    termios settings{};
    cfmakeraw(&settings);  // a newline stays a newline, and nothing is echoed
    winsize size{50, 110, 0, 0};
    if (openpty(&terminal, &programs, nullptr, &settings, &size) != 0)
        throw std::runtime_error("there is no pseudo-terminal");
    for (const int end : {terminal, programs})
        fcntl(end, F_SETFD, FD_CLOEXEC);  // no other process keeps it open
    pid_t child = start_warm(arguments, own, programs, programs, true);
    if (child < 0) child = fork();
    if (child == 0) {
        login_tty(programs);
        become(program, arguments, own);
    }
    close(programs);
    Outcome outcome;
    std::array<char, 4096> chunk{};
    while (true) {
        const ssize_t got = read(terminal, chunk.data(), chunk.size());
        if (got > 0)
            outcome.out.append(chunk.data(), static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            break;  // EIO: nobody has it open any more
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    close(terminal);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return outcome;
}

}  // namespace switchyard::test
