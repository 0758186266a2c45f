// Signals as they come, in a process of its own: raised, so that each is handled before the next line runs.
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <switchyard/train/stop_signal.h>

#include <switchyard_test.h>

using switchyard::train::StopSignal;

namespace {

// How a process ends in which `work` runs.
template <class Work>
int status_of(const Work& work) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (const int signal : {SIGINT, SIGTERM, SIGABRT}) std::signal(signal, SIG_DFL);
        _exit(work());
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

}  // namespace

TEST_CASE("the first signal is noted") {
    for (const int signal : {SIGINT, SIGTERM}) {
        const int status = status_of([&] {
            const StopSignal stop;
            if (stop) return 1;
            std::raise(signal);
            return stop.received() == signal ? 42 : 2;
        });
        REQUIRE(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 42);
    }
}

TEST_CASE("the second signal ends the process, the same one or the other") {
    for (const int first : {SIGINT, SIGTERM}) {
        for (const int second : {SIGINT, SIGTERM}) {
            const int status = status_of([&] {
                const StopSignal stop;
                std::raise(first);
                if (stop.received() != first) return 1;
                std::raise(second);
                return 2;
            });
            INFO(first << " then " << second << ": status " << status);
            REQUIRE(WIFSIGNALED(status));
            CHECK(WTERMSIG(status) == second);
        }
    }
}

TEST_CASE("what handled a signal before does so again afterwards") {
    const int status = status_of([] {
        { const StopSignal stop; }
        std::raise(SIGTERM);
        return 1;
    });
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
}
