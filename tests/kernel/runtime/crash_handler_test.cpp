// What a crash inside a plugin's call leaves on standard error. Each case crashes in a child process of its
// own; to add one: a function that crashes, and the line that is expected.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "core/kernel/runtime/crash_handler.h"
#include "core/kernel/runtime/guard.h"

#include <switchyard_test.h>

using namespace switchyard::runtime;

namespace {

const CallSite site{"acme", "quick", "attention.forward"};

struct Death {
    int signal = 0, code = 0;
    std::string text;
};

Death run_in_child(const std::function<void()>& crash) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        // The test framework has handlers of its own.
        for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(number, SIG_DFL);
        install_crash_handler();
        crash();
        _exit(0);
    }
    close(ends[1]);
    Death death;
    char buffer[512];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof(buffer))) > 0;)
        death.text.append(buffer, static_cast<std::size_t>(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    death.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    death.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return death;
}

void write_where_nothing_is() {
    auto* const nowhere =
        static_cast<volatile int*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    *nowhere = 1;
}

[[gnu::noinline]] int recurse(int depth) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

}  // namespace

TEST_CASE("a crash in a plugin's call names plugin, component and call, and ends the process by its signal") {
    const Death death = run_in_child([] { guarded(site, write_where_nothing_is); });
    CHECK(death.signal == SIGSEGV);
    CHECK(death.text ==
          "switchyard: crashed with SIGSEGV (invalid memory access) in plugin 'acme', component 'quick', "
          "attention.forward\n");
}

TEST_CASE("a plugin that ends the program is named, and the exit code is not its own") {
    const Death death = run_in_child([] { guarded(site, [] { std::exit(0); }); });
    CHECK(death.code == 1);
    CHECK_THAT(death.text,
               switchyard::test::contains("switchyard: ended by exit() in plugin 'acme', component 'quick', "
                                          "attention.forward: the program is not for a plugin to end\n"));
    const Death on_a_thread =
        run_in_child([] { std::thread([] { guarded(site, [] { std::exit(0); }); }).join(); });
    CHECK(on_a_thread.code == 1);
    CHECK_THAT(on_a_thread.text, switchyard::test::contains("ended by exit() in plugin 'acme'"));
}

TEST_CASE("calls within calls are told from the inside out") {
    const CallSite outer{"wrap", "w", "loss.forward"};
    const Death death = run_in_child([&] { guarded(outer, [] { guarded(site, [] { std::abort(); }); }); });
    CHECK(death.signal == SIGABRT);
    CHECK(death.text ==
          "switchyard: crashed with SIGABRT (abort) in plugin 'acme', component 'quick', attention.forward, "
          "called from plugin 'wrap', component 'w', loss.forward\n");
}

TEST_CASE("a crash on a worker thread names the call that is in progress") {
    const Death death =
        run_in_child([] { guarded(site, [] { std::thread(write_where_nothing_is).join(); }); });
    CHECK(death.signal == SIGSEGV);
    CHECK(death.text ==
          "switchyard: crashed with SIGSEGV (invalid memory access) on a thread of its own while this ran: "
          "plugin 'acme', component 'quick', attention.forward\n");
}

TEST_CASE("a crash outside of any plugin says so") {
    const Death death = run_in_child([] {
        guarded(site, [] {});
        raise(SIGFPE);
    });
    CHECK(death.signal == SIGFPE);
    CHECK(death.text ==
          "switchyard: crashed with SIGFPE (integer division by zero or overflow) outside of any plugin\n");
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a stack overflow is told too") {
    const Death death = run_in_child([] { guarded(site, [] { recurse(0); }); });
    CHECK(death.signal == SIGSEGV);
    CHECK_THAT(death.text,
               switchyard::test::contains("in plugin 'acme', component 'quick', attention.forward"));
    const Death on_thread =
        run_in_child([] { std::thread([] { guarded(site, [] { recurse(0); }); }).join(); });
    CHECK(on_thread.signal == SIGSEGV);
    CHECK_THAT(on_thread.text,
               switchyard::test::contains("in plugin 'acme', component 'quick', attention.forward"));
}
#endif
