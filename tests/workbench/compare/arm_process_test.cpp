// Arms that are real processes, each a line or two of POSIX shell: they answer, crash, hang, say garbage,
// flood, close their output.
// To add a case: a script, what it is asked, what becomes of it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "core/workbench/compare/arms/arm_process.h"

#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard::compare;
using switchyard::test::contains;

namespace {

// Longer than anything takes here, on a machine with other work too: it ends what went wrong.
constexpr double patience_ms = 300'000.0;

const std::string question = R"({"type":"run","steps":1})";

std::unique_ptr<ArmProcess> shell(const std::string& script, ArmGuard& guard,
                                  std::function<bool()> stop = {}) {
    std::string error;
    auto arm = ArmProcess::start({{"/bin/sh", "-c", script}, ""}, guard, std::move(stop), error);
    INFO(error);
    REQUIRE(arm != nullptr);
    return arm;
}

Exchange asked(const std::string& script, double timeout_ms = patience_ms) {
    ArmGuard guard("");
    return shell(script, guard)->request(question, timeout_ms);
}

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// 'R', 'S', 'T' ...; '-': there is no such process, or it is dead and not yet waited for.
char state_of(pid_t process) {
    const auto text = content("/proc/" + std::to_string(process) + "/stat");
    const auto end = text.rfind(')');
    const char state = end == std::string::npos ? '-' : text[end + 2];
    return state == 'Z' ? '-' : state;
}

bool becomes(pid_t process, char state) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (state_of(process) != state) {
        if (std::chrono::steady_clock::now() > until) return false;
        ::usleep(1000);
    }
    return true;
}

// The numbers that a script wrote into a file, once there are so many.
std::vector<pid_t> numbers_in(const std::filesystem::path& file, std::size_t count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (std::chrono::steady_clock::now() < until) {
        std::istringstream text(content(file));
        std::vector<pid_t> numbers;
        for (pid_t number = 0; text >> number;) numbers.push_back(number);
        if (numbers.size() == count) return numbers;
        ::usleep(1000);
    }
    return {};
}

}  // namespace

TEST_CASE("an arm answers what it is asked, one line for each question") {
    ArmGuard guard("");
    const auto arm = shell("while read -r line; do echo \"got $line\"; done", guard);
    for (int i = 0; i < 3; ++i) {
        const auto exchange = arm->request("question " + std::to_string(i), patience_ms);
        CHECK(exchange.end == Exchange::End::answered);
        CHECK(exchange.text == "got question " + std::to_string(i));
        CHECK(exchange.wall_ms >= 0.0);
    }
}

TEST_CASE("an arm is stopped while it is not asked, with what it has started") {
    const auto file = switchyard::test::temporary_dir("arm") / "numbers";
    ArmGuard guard("");
    const auto arm =
        shell("sleep 1000 & echo $$ $! >" + file.string() + "; while read -r line; do echo ok; done", guard);
    REQUIRE(arm->request("x", patience_ms).end == Exchange::End::answered);
    const auto processes = numbers_in(file, 2);
    REQUIRE(processes.size() == 2);
    for (const pid_t process : processes) CHECK(becomes(process, 'T'));
    CHECK(arm->request("x", patience_ms).end == Exchange::End::answered);
    for (const pid_t process : processes) CHECK(becomes(process, 'T'));
    arm->kill();
    for (const pid_t process : processes) CHECK(becomes(process, '-'));
}

TEST_CASE("an arm that ends says how, with the end of its errors") {
    ArmGuard guard("");
    const auto killed = shell("read -r line; echo 'about to fall' >&2; kill -SEGV $$", guard);
    auto exchange = killed->request(question, patience_ms);
    CHECK(exchange.end == Exchange::End::exited);
    CHECK(exchange.text == "was killed by signal 11 (Segmentation fault)");
    CHECK(killed->stderr_tail() == "about to fall");
    CHECK(killed->request(question, patience_ms).end == Exchange::End::exited);
    exchange = asked("read -r line; exit 7");
    CHECK(exchange.end == Exchange::End::exited);
    CHECK(exchange.text == "ended with exit code 7");
    exchange = asked("exit 0");
    CHECK(exchange.text == "ended with exit code 0");
}

TEST_CASE("an arm that ends is not waited for while what it started holds its output") {
    auto exchange = asked("read -r line; sleep 1000 & exit 7");
    CHECK(exchange.end == Exchange::End::exited);
    CHECK(exchange.text == "ended with exit code 7");
    exchange = asked("read -r line; sleep 1000 & echo last; exit 0");
    CHECK(exchange.end == Exchange::End::answered);
    CHECK(exchange.text == "last");
}

TEST_CASE("an arm that says nothing is not waited for longer than allowed") {
    const auto exchange = asked("sleep 1000", 1000.0);
    CHECK(exchange.end == Exchange::End::timed_out);
    CHECK(exchange.text == "did not answer within 1 s");
    CHECK(asked("sleep 1000", 20.0).text == "did not answer within 0.0200 s");
}

TEST_CASE("an arm that closes its output and goes on") {
    const auto exchange = asked("read -r line; exec >&-; exec sleep 1000");
    CHECK(exchange.end == Exchange::End::exited);
    CHECK(exchange.text == "closed its standard output");
}

TEST_CASE("an arm that floods: a line without end, lines without being asked") {
    auto exchange = asked("read -r line; while :; do printf '%4096s' x; done");
    CHECK(exchange.end == Exchange::End::unsolicited);
    CHECK_THAT(exchange.text, contains("its line does not end: '        "));
    ArmGuard guard("");
    const auto arm = shell("while :; do echo tick; done", guard);
    exchange = arm->request(question, patience_ms);
    // A tick that comes while it is asked is an answer; sooner or later there are two.
    for (int i = 0; i < 1000 && exchange.end == Exchange::End::answered; ++i)
        exchange = arm->request(question, patience_ms);
    CHECK(exchange.end == Exchange::End::unsolicited);
    CHECK(exchange.text == "it sent a line without a request: 'tick'");
}

TEST_CASE("an arm may end by itself, but not take its time") {
    const auto file = switchyard::test::temporary_dir("arm") / "last";
    ArmGuard guard("");
    const auto polite = shell("while read -r line; do echo \"$line\" >" + file.string() +
                                  "; echo ok; done; echo end >>" + file.string(),
                              guard);
    CHECK(polite->request(question, patience_ms).text == "ok");
    polite->quit(patience_ms);
    CHECK(content(file) == "{\"type\":\"quit\"}\nend\n");
    const auto stubborn = shell("trap '' TERM INT; while :; do sleep 1000; done", guard);
    stubborn->quit();
    CHECK(stubborn->request(question, 1.0).end == Exchange::End::exited);
}

TEST_CASE("errors without end do not stop an arm, their end is kept") {
    ArmGuard guard("");
    const auto arm = shell(
        "read -r line; i=0; while [ $i -lt 20000 ]; do echo \"error number $i\" >&2; i=$((i+1)); done; echo "
        "ok",
        guard);
    CHECK(arm->request(question, patience_ms).text == "ok");
    CHECK(arm->stderr_tail().size() <= 2000);
    CHECK_THAT(arm->stderr_tail(), contains("error number 19"));
}

TEST_CASE("a program that is not there, a folder that is not there") {
    ArmGuard guard("");
    std::string error;
    CHECK(ArmProcess::start({{"no-such-program"}, ""}, guard, {}, error) == nullptr);
    CHECK(error == "cannot run no-such-program: No such file or directory");
    CHECK(ArmProcess::start({{"sh"}, "/no/such/folder"}, guard, {}, error) == nullptr);
    CHECK(error == "cannot run sh: No such file or directory");
}

TEST_CASE("a program that is not there is not there, though a folder of PATH is closed to this user") {
    const auto closed = switchyard::test::temporary_dir("closed");
    std::filesystem::permissions(closed, std::filesystem::perms::none);
    const switchyard::test::Variable path("PATH", closed.string() + ":" + std::getenv("PATH"));
    ArmGuard guard("");
    std::string error;
    CHECK(ArmProcess::start({{"no-such-program"}, ""}, guard, {}, error) == nullptr);
    CHECK(error == "cannot run no-such-program: No such file or directory");
    std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
}

TEST_CASE("what an arm that was killed still writes does not keep the folder of the comparison") {
    const auto folder = switchyard::test::temporary_dir("guarded") / "comparison";
    std::filesystem::create_directories(folder);
    auto guard = std::make_unique<ArmGuard>(folder.string());
    const pid_t arm = ::fork();
    REQUIRE(arm >= 0);
    if (arm == 0) {
        ::setpgid(0, 0);
        ::close(guard->pipe());  // else the guard would wait for this process
        while (true) ::pause();
    }
    ::setpgid(arm, arm);
    switchyard::base::tell(guard->pipe(), arm);
    // Killed, and not yet waited for, so that its group is still there. It writes once all has been removed.
    std::thread late([&] {
        siginfo_t how{};
        ::waitid(P_PID, static_cast<id_t>(arm), &how, WEXITED | WNOWAIT);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(300);
        while (std::filesystem::exists(folder) && std::chrono::steady_clock::now() < until) ::usleep(1000);
        std::filesystem::create_directories(folder / "weights");
        ::waitpid(arm, nullptr, 0);
    });
    guard.reset();
    late.join();
    CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("what an arm has started does not outlive a coordinator that ends in the middle of starting it") {
    const auto folder = switchyard::test::temporary_dir("starting");
    const pid_t coordinator = ::fork();
    REQUIRE(coordinator >= 0);
    if (coordinator == 0) {
        ArmGuard guard("");
        std::string error;
        const auto script = "sleep 1000 & echo $$ $! >" + (folder / "arm").string() + "; wait";
        // As ArmProcess::start begins. The rest of it never comes.
        (void)switchyard::base::start_program(
            {{"/bin/sh", "-c", script}, "", true, {}, -1, true, guard.pipe()}, {0, 1, 2}, error);
        (void)numbers_in(folder / "arm", 2);
        ::_exit(1);
    }
    const auto processes = numbers_in(folder / "arm", 2);
    REQUIRE(processes.size() == 2);
    ::waitpid(coordinator, nullptr, 0);
    for (const pid_t process : processes) CHECK(becomes(process, '-'));
}

TEST_CASE("an arm runs in its folder and with signals as usual") {
    const auto folder = switchyard::test::temporary_dir("arm");
    ArmGuard guard("");
    std::string error;
    const auto arm = ArmProcess::start({{"sh", "-c", "read -r line; pwd; kill -PIPE $$"}, folder.string()},
                                       guard, {}, error);
    REQUIRE(arm != nullptr);
    CHECK(arm->request(question, patience_ms).text == std::filesystem::canonical(folder).string());
    CHECK(arm->request(question, patience_ms).text == "was killed by signal 13 (Broken pipe)");
}

TEST_CASE("waiting ends when the coordinator is told to stop") {
    ArmGuard guard("");
    int looked = 0;
    const auto arm = shell("sleep 1000", guard, [&] { return ++looked > 2; });
    CHECK(arm->request(question, 1e9).end == Exchange::End::stopped);
}

TEST_CASE(
    "no arm outlives a coordinator that is killed, stopped or not, nor what it has started, nor its folder") {
    const auto folder = switchyard::test::temporary_dir("coordinator");
    const auto files = folder / "files";
    std::filesystem::create_directory(files);
    // `wait` and not a second sleep: a shell that is stopped while its new process is not yet another program
    // (vfork) shows as 'D'.
    const auto script = [&](const char* name) {
        return "sleep 1000 & echo $$ $! >" + (folder / name).string() + "; read -r line; echo ok; wait";
    };
    const pid_t coordinator = ::fork();
    REQUIRE(coordinator >= 0);
    if (coordinator == 0) {
        ArmGuard guard(files.string());
        std::string error;
        const auto stopped = ArmProcess::start({{"/bin/sh", "-c", script("stopped")}, ""}, guard, {}, error);
        const auto running = ArmProcess::start({{"/bin/sh", "-c", script("running")}, ""}, guard, {}, error);
        if (stopped && running && stopped->request("x", 1e9).text == "ok")
            (void)(running->request("x", 1e9), running->request("y", 1e9));
        ::_exit(1);
    }
    auto arms = numbers_in(folder / "stopped", 2);
    const auto awake = numbers_in(folder / "running", 2);
    REQUIRE(arms.size() == 2);
    REQUIRE(awake.size() == 2);
    for (const pid_t arm : arms) CHECK(becomes(arm, 'T'));
    arms.insert(arms.end(), awake.begin(), awake.end());
    ::kill(coordinator, SIGKILL);
    ::waitpid(coordinator, nullptr, 0);
    for (const pid_t arm : arms) CHECK(becomes(arm, '-'));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (std::filesystem::exists(files) && std::chrono::steady_clock::now() < until) ::usleep(1000);
    CHECK_FALSE(std::filesystem::exists(files));
}
