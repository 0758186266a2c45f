// Programs that are started by their words: their streams, how they end, and why one cannot be started.
#include "core/kernel/base/child_process.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard::base;
namespace fs = std::filesystem;

namespace {

constexpr double patience_ms = 300'000.0;

struct Run {
    std::string error, output;
    Ending ending;
};

Run run(const Program& program, const std::string& input = "") {
    Run result;
    Pipe in, out;
    const auto process = start_program(program, {in.ends[0], out.ends[1], out.ends[1]}, result.error);
    if (process < 0) return result;
    ::close(out.take(1));
    REQUIRE(::write(in.ends[1], input.data(), input.size()) == static_cast<ssize_t>(input.size()));
    ::close(in.take(1));
    char buffer[256];
    for (ssize_t got = 0; (got = ::read(out.ends[0], buffer, sizeof buffer)) > 0;)
        result.output.append(buffer, static_cast<std::size_t>(got));
    const auto ending = ending_within(process, patience_ms);
    REQUIRE(ending);
    result.ending = *ending;
    reap(process);
    return result;
}

}  // namespace

TEST_CASE("a program gets its words as they are, its input and its folder") {
    const auto folder = switchyard::test::temporary_dir("program");
    const auto echoed = run({{"printf", "%s|", "a b", "$HOME", "'"}, ""});
    CHECK(echoed.output == "a b|$HOME|'|");
    CHECK(echoed.ending.well);
    CHECK(echoed.ending.text == "ended with exit code 0");
    CHECK(run({{"cat"}, ""}, "two\nlines\n").output == "two\nlines\n");
    CHECK(run({{"pwd"}, folder.string()}).output == fs::canonical(folder).string() + "\n");
}

TEST_CASE("a pipe keeps messages apart where it is told to, and out of the way of low descriptors") {
    Pipe messages(Pipe::Of::messages, 40), bytes(Pipe::Of::bytes, 40);
    for (Pipe* pipe : {&messages, &bytes}) {
        REQUIRE(pipe->open());
        CHECK(std::min(pipe->ends[0], pipe->ends[1]) >= 40);
        for (const int end : pipe->ends) CHECK(::fcntl(end, F_GETFD) == FD_CLOEXEC);
        REQUIRE(::write(pipe->ends[1], "one", 3) == 3);
        REQUIRE(::write(pipe->ends[1], "two", 3) == 3);
        char text[8];
        CHECK(::read(pipe->ends[0], text, sizeof text) == (pipe == &messages ? 3 : 6));
        pipe->close(1);
        CHECK_FALSE(pipe->open());
        CHECK(::read(pipe->ends[0], text, sizeof text) == (pipe == &messages ? 3 : 0));
    }
}

TEST_CASE("a process tells its number before its program runs, and takes it back if it cannot") {
    Pipe told, in, out;
    long number = 0;
    std::string error;
    const auto process =
        start_program({{"cat"}, "", true, {}, -1, true, told.ends[1]}, {in.ends[0], out.ends[1], 2}, error);
    REQUIRE(process > 0);
    REQUIRE(::read(told.ends[0], &number, sizeof number) == static_cast<ssize_t>(sizeof number));
    CHECK(number == process);
    ::close(in.take(1));
    reap(process);
    CHECK(start_program({{"no-such-program"}, "", true, {}, -1, true, told.ends[1]}, {0, 1, 2}, error) == -1);
    long taken_back = 0;
    REQUIRE(::read(told.ends[0], &number, sizeof number) == static_cast<ssize_t>(sizeof number));
    REQUIRE(::read(told.ends[0], &taken_back, sizeof taken_back) == static_cast<ssize_t>(sizeof number));
    CHECK(number > 0);
    CHECK(taken_back == -number);
}

TEST_CASE("a program has this one's environment, but for the variables that it is given") {
    const switchyard::test::Variable kept("SWITCHYARD_TEST_KEPT", "as it was"),
        replaced("SWITCHYARD_TEST_REPLACED", "before");
    Program program{{"sh", "-c",
                     "printf '%s|%s|%s' \"$SWITCHYARD_TEST_KEPT\" \"$SWITCHYARD_TEST_REPLACED\" "
                     "\"$SWITCHYARD_TEST_NEW\""},
                    ""};
    program.environment = {"SWITCHYARD_TEST_REPLACED=a=b", "SWITCHYARD_TEST_NEW=c"};
    CHECK(run(program).output == "as it was|a=b|c");
}

TEST_CASE("how a program ended is told") {
    const auto failed = run({{"sh", "-c", "exit 7"}, ""});
    CHECK_FALSE(failed.ending.well);
    CHECK(failed.ending.text == "ended with exit code 7");
    const auto killed = run({{"sh", "-c", "kill -SEGV $$"}, ""});
    CHECK_FALSE(killed.ending.well);
    CHECK(killed.ending.text == "was killed by signal 11 (Segmentation fault)");
}

TEST_CASE("one that goes on has not ended, and is killed with its group") {
    Pipe in, out;
    std::string error;
    const auto process = start_program({{"sh", "-c", "sleep 1000 & cat"}, "", false},
                                       {in.ends[0], out.ends[1], out.ends[1]}, error);
    REQUIRE(process > 0);
    ::close(out.take(1));
    CHECK_FALSE(ending_within(process, 0.0));
    ::kill(-process, SIGKILL);
    reap(process);
    char byte = 0;
    CHECK(::read(out.ends[0], &byte, 1) == 0);  // nobody is left who could write
}

TEST_CASE("why a program cannot be run is told before and when it is started") {
    const auto folder = switchyard::test::temporary_dir("program");
    const auto plain = (folder / "plain.txt").string(), odd = (folder / "odd").string();
    std::ofstream(plain) << "text";
    std::ofstream(odd) << "#!/no/such/interpreter\n";
    fs::permissions(odd, fs::perms::owner_all);
    CHECK(program_problem("sh") == "");
    CHECK(program_problem("/bin/sh") == "");
    CHECK(program_problem("./odd", folder.string()) == "");
    CHECK(program_problem("no-such-program") == "there is no program no-such-program in PATH");
    CHECK(program_problem("/no/program") == "/no/program: no such program");
    CHECK(program_problem("./plain.txt", folder.string()) ==
          folder.string() + "/./plain.txt cannot be executed");
    CHECK(program_problem(folder.string()) == folder.string() + " is a folder, not a program");
    CHECK(run({{"no-such-program"}, ""}).error == "cannot run no-such-program: No such file or directory");
    CHECK(run({{odd}, ""}).error == "cannot run " + odd + ": No such file or directory");
    CHECK(run({{"sh"}, "/no/such/folder"}).error == "cannot run sh: No such file or directory");
}

TEST_CASE("a program has its streams, the descriptor that it is to keep, and no other of its starter") {
    const int left_open = ::dup(STDERR_FILENO);  // as whoever started this process may leave one
    const int kept = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    const auto there = [](int descriptor) {
        return "test -e /proc/self/fd/" + std::to_string(descriptor) + " && echo there || echo gone; ";
    };
    Program program{{"sh", "-c", there(left_open) + there(kept)}, ""};
    CHECK(run(program).output == "gone\ngone\n");
    program.keeps = kept;
    CHECK(run(program).output == "gone\nthere\n");
    ::close(left_open);
    ::close(kept);
}
