// Arms of this program that fail while they run: rows with their reasons, and the others finish.
// To add a case: what makes an arm fail, its status and reason.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <functional>
#include <vector>

#include "compared.h"
#include "processes.h"

using namespace switchyard::test;

namespace {

// Processes that were started with this in their environment, and what they have started.
std::vector<pid_t> processes_with(const std::string& mark) {
    std::vector<pid_t> found;
    for (const auto process : all_processes())
        if (told_by_proc(process, "environ").find(mark) != std::string::npos) found.push_back(process);
    return found;
}

// A long comparison, once so many arms are there, ended by `signal`. Nothing of it is left.
Outcome ended_by(int signal, std::ptrdiff_t arms, const std::function<Words(const TinyJob&)>& words) {
    const TinyJob job;
    const auto mark = "SWITCHYARD_TEST_MARK=" + job.file("");
    const auto temporary = job.file("temporary");
    fs::create_directories(temporary);
    Started started(words(job),
                    {.environment = {{"SWITCHYARD_TEST_MARK", job.file("")}, {"TMPDIR", temporary}}});
    REQUIRE(wait_until(
        [&] { return started.ended() || std::ranges::count_if(processes_with(mark), is_arm) >= arms; }));
    REQUIRE_FALSE(started.ended());
    started.send(signal);
    auto outcome = started.wait();
    CHECK(wait_until([&] { return processes_with(mark).empty(); }));
    // By a process that is none of these, where the program was killed.
    CHECK(wait_until([&] { return fs::is_empty(temporary); }));
    return outcome;
}

Outcome ended_by(int signal) {
    return ended_by(signal, 2, [](const TinyJob& job) {
        return Words{"compare",  job.file("job.toml"),
                     "--vary",   "attention.backend=naive,torch",
                     "--blocks", "9999",
                     "--time",   "600"};
    });
}

}  // namespace

TEST_CASE("--fastest takes nothing away from what is said of arms that all failed") {
    const TinyJob job;
    const auto fastest = job.file("fastest");
    const auto outcome =
        compared_text(job, {"--arm", "one: optimizer.lr=1e30 optimizer.max_grad_norm=0", "--arm",
                            "two: optimizer.lr=2e30 optimizer.max_grad_norm=0", "--fastest", fastest});
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, contains("the loss is not finite at step "));
    CHECK_THAT(outcome.err, contains("--fastest: no arm that --set can give could be timed, so " + fastest +
                                     " was not written"));
    CHECK_FALSE(fs::exists(fastest));
}

TEST_CASE("an arm whose loss is not finite is a row, the other finishes") {
    const TinyJob job;
    const auto json = compared(
        job, {"--arm", "good:", "--arm", "diverges: optimizer.lr=1e30 optimizer.max_grad_norm=0"}, 1);
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["arms"][1]["status"] == "nan");
    CHECK_THAT(json["arms"][1]["reason"].get<std::string>(), contains("the loss is not finite at step "));
    CHECK(json["pairs"].empty());
    CHECK(json["blocks"] == 2);
}

TEST_CASE("an arm whose kernel crashes is a row with the signal and the call, the other finishes") {
    const TinyJob job;
    job.write("job.toml", bytes_of(job.file("job.toml")) + "\n[plugins]\npaths = [\"" +
                              (build_dir() / "tests/support/plugins/late").string() + "\"]\n");
    const auto json = compared(job,
                               {"--set", "model.activation=relu", "--arm", "good:", "--arm",
                                "crashes: activation.backend=crash_later"},
                               1);
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["blocks"] == 2);
    CHECK(json["arms"][1]["status"] == "crashed");
    CHECK_THAT(json["arms"][1]["reason"].get<std::string>(),
               contains("was killed by signal 11 (Segmentation fault) while it prepared\n"));
    CHECK_THAT(json["arms"][1]["reason"].get<std::string>(), contains("test_crashes_later"));
}

TEST_CASE("Ctrl-C ends all arms, the sleeping ones too, and says so") {
    const auto outcome = ended_by(SIGINT);
    CHECK(outcome.code == 130);
    CHECK_THAT(outcome.out, contains("STOPPED before its end"));
}

TEST_CASE("a live self-test that is stopped says how far it came, and leaves nothing") {
    const auto live = [](const TinyJob& job) {
        return Words{"compare", "self-test", "--live", job.file("job.toml"), "--comparisons",
                     "2",       "--time",    "600",    "--beside-load"};
    };
    const auto outcome = ended_by(SIGTERM, 3, live);
    CHECK(outcome.code == 143);
    CHECK(outcome.out == "STOPPED before its end, after 0 of 2 comparisons\n");
    CHECK(ended_by(SIGKILL, 3, live).code == -SIGKILL);
}

TEST_CASE("no arm is left where the program is killed") { CHECK(ended_by(SIGKILL).code == -SIGKILL); }
