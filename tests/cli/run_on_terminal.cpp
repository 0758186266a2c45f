#include "run_on_terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

[[noreturn]] void become(const std::vector<std::string>& arguments, const RunOptions& options,
                         const std::string& program, const std::string& folder) {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    for (const auto& [key, value] : options.environment) setenv(key.c_str(), value.c_str(), 1);
    const auto input = options.input.empty() ? std::string("/dev/null") : options.input;
    dup2(open(input.c_str(), O_RDONLY), STDIN_FILENO);
    if (chdir(folder.c_str()) != 0) _exit(127);
    if (options.in_child) options.in_child();
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
}

}  // namespace

Outcome run_on_terminal(const std::vector<std::string>& arguments, const RunOptions& options) {
    const auto program = (build_dir() / "bin/switchyard").string();
    const auto folder = temporary_dir("terminal").string();
    int terminal = -1;
    termios settings{};
    cfmakeraw(&settings);  // a newline stays a newline, and nothing is echoed
    winsize size{50, 110, 0, 0};
    const pid_t child = forkpty(&terminal, nullptr, &settings, &size);
    if (child < 0) throw std::runtime_error("there is no pseudo-terminal");
    if (child == 0) become(arguments, options, program, folder);
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
