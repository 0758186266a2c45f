#include "waiting.h"

#include <csignal>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tiny_job.h"

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

std::string in_proc(pid_t process, const char* file) {
    return bytes_of("/proc/" + std::to_string(process) + "/" + file);
}

}  // namespace

bool waits_for_other_end(pid_t process) { return in_proc(process, "wchan") == "wait_for_partner"; }

bool system_says_where_processes_wait() {
    const auto fifo = (temporary_dir("waiting") / "fifo").string();
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(open(fifo.c_str(), O_RDONLY));
    const bool sleeps = wait_until([&] {
        const auto state = in_proc(child, "stat");
        return state.find(") S") != std::string::npos;
    });
    const bool said = sleeps && waits_for_other_end(child);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return said;
}

}  // namespace switchyard::test
