// The standard output while plugins are called. Each case runs in a process of its own, whose standard output
// and error are files.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "core/kernel/base/stdout_redirect.h"

#include <switchyard_test.h>

using namespace switchyard;
using base::StdoutRedirect;

namespace {

struct Written {
    std::string out, err;
};

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

Written in_child(const std::function<void()>& work) {
    const auto folder = test::temporary_dir("aside");
    std::cout.flush();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
        dup2(open((folder / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        work();
        std::cout.flush();
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    return {content(folder / "out"), content(folder / "err")};
}

// Buffered, as to a file: a line is written where it was meant to go only if buffers are emptied at each
// turn.
void say(const char* text) { std::printf("%s ", text); }

}  // namespace

TEST_CASE("what is printed while one lives goes to the standard error, in order") {
    const auto written = in_child([] {
        say("before");
        {
            const StdoutRedirect aside;
            say("aside");
            std::cout << "cout ";
        }
        say("after");
    });
    CHECK(written.out == "before after ");
    CHECK(written.err == "aside cout ");
}

TEST_CASE("they nest, on other threads too") {
    const auto written = in_child([] {
        {
            const StdoutRedirect outer;
            std::thread([] {
                const StdoutRedirect inner;
                say("inner");
            }).join();
            say("outer");
        }
        say("after");
    });
    CHECK(written.out == "after ");
    CHECK(written.err == "inner outer ");
}

TEST_CASE("put aside for good, the standard output is reached through what came back") {
    const auto written = in_child([] {
        say("before");
        const int out = base::redirect_stdout_for_good();
        say("aside");
        { const StdoutRedirect aside; }
        say("still");
        if (write(out, "mine", 4) != 4) _exit(1);
    });
    CHECK(written.out == "before mine");
    CHECK(written.err == "aside still ");
}

TEST_CASE("without a standard output there is nothing to put aside") {
    const auto written = in_child([] {
        close(STDOUT_FILENO);
        { const StdoutRedirect aside; }
        if (fcntl(STDOUT_FILENO, F_GETFD) != -1) _exit(1);
        if (base::redirect_stdout_for_good() != -1) _exit(1);
    });
    CHECK(written.err.empty());
}

TEST_CASE("without a standard error it goes nowhere") {
    const auto written = in_child([] {
        close(STDERR_FILENO);
        {
            const StdoutRedirect aside;
            say("aside");
        }
        say("after");
    });
    CHECK(written.out == "after ");
}
