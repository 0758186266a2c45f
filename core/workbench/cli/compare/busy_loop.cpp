#include "core/workbench/cli/compare/busy_loop.h"

#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "core/kernel/base/child_process.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {

BusyLoop::BusyLoop() {
    base::Program program;
    program.words = {"sh", "-c", "while :; do :; done"};
    std::string error;
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    child_ = base::start_program(program, {nowhere, nowhere, nowhere}, error);
    ::close(nowhere);
    if (child_ < 0) throw Failure("--beside-load: " + error, Exit::run_failed);
    ::kill(child_, SIGSTOP);
}

BusyLoop::~BusyLoop() {
    ::kill(child_, SIGKILL);
    base::reap(child_);
}

void BusyLoop::let_run(bool runs) {
    if (runs != runs_) ::kill(child_, runs ? SIGCONT : SIGSTOP);
    runs_ = runs;
}

}  // namespace switchyard::cli
