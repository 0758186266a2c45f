// Signals as they come, in a process of its own: each is handled before the next line runs.
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "core/workbench/train/stop_signal.h"

#include <switchyard_test.h>

using switchyard::train::StopSignal;

namespace {

int asking = -1;  // in the process of `status_of`: a pipe by which it asks its parent for a signal

void raised_by_parent(int signal) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    const auto letter = static_cast<char>(signal);
    if (write(asking, &letter, 1) == 1) sigsuspend(&before);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

// How a process ends in which `work` runs.
template <class Work>
int status_of(const Work& work) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        close(ends[0]);
        asking = ends[1];
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGABRT}) std::signal(signal, SIG_DFL);
        _exit(work());
    }
    close(ends[1]);
    for (char asked = 0; read(ends[0], &asked, 1) == 1;) kill(child, asked);
    close(ends[0]);
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

TEST_CASE("what a launcher hands on and the process got already is one signal, and one more ends it") {
    for (const bool launcher_first : {false, true}) {
        for (const bool one_more : {false, true}) {
            const int status = status_of([&] {
                StopSignal stop;
                stop.note();
                if (launcher_first) raised_by_parent(SIGTERM);
                std::raise(SIGTERM);
                if (!launcher_first) raised_by_parent(SIGTERM);
                if (one_more) raised_by_parent(SIGTERM);
                return stop.exit_code() == 128 + SIGTERM ? 42 : 1;
            });
            INFO("status " << status);
            CHECK(WIFSIGNALED(status) == one_more);
            CHECK((one_more ? WTERMSIG(status) == SIGTERM : WEXITSTATUS(status) == 42));
        }
    }
}

TEST_CASE("the second signal of a launcher ends the process") {
    const int status = status_of([] {
        StopSignal stop;
        stop.note();
        raised_by_parent(SIGINT);
        raised_by_parent(SIGINT);
        return 1;
    });
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
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
