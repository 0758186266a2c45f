// The guarded streams and colored text, on a stream whose end can be read. What a real terminal gets is
// tested in tests/workbench/cli/hostile_text.
#include <csignal>
#include <iostream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/kernel/base/terminal.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// While it lives, std::cout ends here, guarded.
class Captured {
public:
    Captured() : own_(std::cout.rdbuf(end_.rdbuf())) { base::guard_terminal(); }
    ~Captured() { std::cout.rdbuf(own_); }
    std::string text() const { return std::cout.flush(), end_.str(); }

private:
    std::ostringstream end_;
    std::streambuf* own_;
};

}  // namespace

TEST_CASE("what is written to a standard stream is escaped, whoever wrote it") {
    const Captured captured;
    std::cout << "a\033[2Jb" << '\007' << 17 << "\tc\n" << std::flush << "\xc2\x9b" << '\xff' << '\n';
    CHECK(captured.text() == "a\\x1b[2Jb\\x0717\tc\n\\u009b\\xff\n");
}

TEST_CASE("a character that is written in pieces stays whole") {
    const Captured captured;
    std::string expected;
    for (int i = 0; i < 4000; ++i) {  // beyond what is held back, so that some pieces meet its end
        for (const char byte : std::string("a熊🐻")) std::cout.put(byte);
        expected += "a熊🐻";
    }
    CHECK(captured.text() == expected);
}

TEST_CASE("the beginning of a character that never ends is told when the stream is flushed") {
    const Captured captured;
    std::cout << "\xe7\x86";
    CHECK(captured.text() == "\\xe7\\x86");
}

TEST_CASE("a stream whose end takes nothing more is no longer good") {
    struct Full final : std::streambuf {
    } full;
    std::streambuf* const own = std::cout.rdbuf(&full);
    base::guard_terminal();
    std::cout << "lost" << std::flush;
    const bool bad = std::cout.bad();
    std::cout.clear();
    std::cout.rdbuf(own);
    CHECK(bad);
}

TEST_CASE("text keeps its colors apart from its characters") {
    const base::Text text = "a " + base::paint(base::Color::red, "熊\n\033") + std::string("b");
    CHECK(text.plain() == "a 熊\n\033b");
    CHECK(text.on_one_line().plain() == "a 熊\\n\\x1bb");
    CHECK(base::Text("a熊").columns() == 3);
    CHECK(base::paint(base::Color::red, "").columns() == 0);
    const Captured captured;
    std::cout << text << base::over_line;
    // The test's own output may be a terminal: colors are ours, and the escape in the text is not.
    CHECK_THAT(captured.text(), test::contains("熊\n\\x1b"));
}

TEST_CASE("messages that nobody takes are dropped where that was asked for, and the stream stays good") {
    for (const bool gone : {false, true}) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            int ends[2];
            if (pipe(ends) != 0) _exit(1);
            fcntl(ends[1], F_SETFL, O_NONBLOCK);
            const std::string page(4096, 'x');
            while (write(ends[1], page.data(), page.size()) > 0) {
            }
            fcntl(ends[1], F_SETFL, 0);
            dup2(ends[1], STDERR_FILENO);
            if (gone) close(ends[0]);
            std::signal(SIGPIPE, SIG_IGN);
            base::guard_terminal();
            base::drop_what_nobody_takes();
            std::cerr << std::string(10'000, 'y') << std::flush;
            if (!std::cerr) _exit(2);
            // What is read again is written again.
            std::string left(1 << 20, ' ');
            if (!gone && read(ends[0], left.data(), left.size()) <= 0) _exit(3);
            std::cerr << "heard\n" << std::flush;
            const auto count = gone ? 0 : read(ends[0], left.data(), left.size());
            _exit(gone || left.substr(0, static_cast<std::size_t>(count)) == "heard\n" ? 0 : 4);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
}

TEST_CASE("data go byte for byte into a pipe, and escaped to a terminal") {
    for (const bool terminal : {false, true}) {
        int ends[2];
        REQUIRE((terminal ? openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) : pipe(ends)) == 0);
        std::cout.flush();
        const int own = dup(STDOUT_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        std::string text;
        {
            const Captured captured;
            std::cout << "of ours: \007";
            base::print_data("a\033[2Jb\xff\n");
            text = captured.text();
        }
        dup2(own, STDOUT_FILENO);
        for (const int descriptor : {own, ends[0], ends[1]}) close(descriptor);
        CHECK(text == (terminal ? "of ours: \\x07a\\x1b[2Jb\\xff\n" : "of ours: \\x07a\033[2Jb\xff\n"));
    }
}
