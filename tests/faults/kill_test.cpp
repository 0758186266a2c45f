// A run that is killed at drawn moments, in the middle of a write too, and gone on with ends with the same
// bits. Moments are counted calls to the system, so that a seed repeats them on every machine.
// SWITCHYARD_KILLS says how many; 10, unless it is set.
#include <csignal>
#include <iostream>
#include <random>

#include "injected.h"

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("a run that is killed again and again ends as one that was not") {
    SavedRun run;
    run.make_oracle();
    const Injected program(run.place());
    REQUIRE(program.run(run.begin()).code == 0);
    REQUIRE(run.difference() == "");
    const auto calls = static_cast<std::uint32_t>(program.calls().size());
    const long wanted = from_environment("SWITCHYARD_KILLS", 10);
    std::mt19937 random(7);
    long kills = 0, runs = 0, in_a_write = 0;
    for (; kills < wanted; ++runs) {
        fs::remove_all(run.folder());
        while (kills < wanted) {
            const Fault fault{random() % 3 == 0 ? "kill-half" : "kill", false,
                              1 + static_cast<long>(random() % calls)};
            INFO("kill " << kills + 1 << ", run " << runs + 1 << ": " << fault.text());
            const auto outcome = program.run(run.go_on(), fault);
            INFO(outcome.err);
            if (outcome.code == 0) break;  // it had less to do than that many calls
            REQUIRE(outcome.code == -SIGKILL);
            ++kills;
            const auto last = program.calls().back();
            in_a_write += fault.name == "kill-half" && last.kind == "write" ? 1 : 0;
            CHECK(run.half_written() == "");
        }
        const auto outcome = switchyard::test::run(run.go_on());
        INFO("run " << runs + 1 << ", after " << kills << " kills: " << outcome.err);
        REQUIRE(outcome.code == 0);
        CHECK(run.difference() == "");
    }
    std::cout << kills << " kills in " << runs << " runs, " << in_a_write << " in the middle of a write\n";
}

TEST_CASE("a run that is killed before anything of it is there is begun again") {
    SavedRun run;
    run.make_oracle();
    const Injected program(run.folder());
    REQUIRE(program.run(run.begin()).code == 0);
    const auto calls = program.calls();
    for (const auto& call : calls) {
        fs::remove_all(run.folder());
        INFO("killed before call " << call.number << ", " << call.kind << " " << call.path);
        REQUIRE(program.run(run.begin(), {"kill", false, call.number}).code == -SIGKILL);
        const auto outcome = switchyard::test::run(run.go_on());
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(run.difference() == "");
        if (call.kind == "rename") return;  // the first file is whole after it
    }
    FAIL("nothing was renamed");
}
