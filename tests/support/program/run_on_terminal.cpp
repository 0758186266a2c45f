#include "run_on_terminal.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

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
    int terminal = -1;
    termios settings{};
    cfmakeraw(&settings);  // a newline stays a newline, and nothing is echoed
    winsize size{50, 110, 0, 0};
    const pid_t child = forkpty(&terminal, nullptr, &settings, &size);
    if (child < 0) throw std::runtime_error("there is no pseudo-terminal");
    if (child == 0) {
        unsetenv("NO_COLOR");
        setenv("TERM", "xterm", 1);
        become(program, arguments, own);
    }
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
