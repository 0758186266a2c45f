// Signals as they come, in a process of its own: raised, so that each is handled before the next line runs.
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "core/workbench/train/stop_signal.h"

#include <switchyard_test.h>

using switchyard::train::StopSignal;

namespace {

// How a process ends in which `work` runs.
template <class Work>
int status_of(const Work& work) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGABRT}) std::signal(signal, SIG_DFL);
        _exit(work());
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

}  // namespace

TEST_CASE("while there is nothing to save a signal ends the process with the code that a shell gives it") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        for (const bool again : {false, true}) {
            const int status = status_of([&] {
                StopSignal stop;
                if (again) {
                    stop.note();
                    stop.end_at_once();
                }
                std::raise(signal);
                return 1;
            });
            REQUIRE(WIFEXITED(status));
            CHECK(WEXITSTATUS(status) == 128 + signal);
        }
    }
}

TEST_CASE("the first signal is noted") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const int status = status_of([&] {
            StopSignal stop;
            stop.note();
            if (stop) return 1;
            std::raise(signal);
            return stop.received() == signal && stop.exit_code() == 128 + signal ? 42 : 2;
        });
        REQUIRE(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 42);
    }
}

TEST_CASE("the second signal ends the process, the same one or another") {
    for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
        for (const int second : {SIGINT, SIGTERM, SIGHUP}) {
            const int status = status_of([&] {
                StopSignal stop;
                stop.note();
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

TEST_CASE("a signal that was ignored stays ignored") {
    const int status = status_of([] {
        std::signal(SIGHUP, SIG_IGN);
        StopSignal stop;
        std::raise(SIGHUP);
        stop.note();
        std::raise(SIGHUP);
        return stop ? 1 : 42;
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 42);
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
