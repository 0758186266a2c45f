// Who used the processors while something was timed.
#include "core/workbench/bench/measure/other_work.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("processor times are those of the line of all processors") {
    // user nice system idle iowait irq softirq steal guest guest_nice, in hundredths of a second
    const auto times =
        bench::read_processor_times("cpu  100 20 30 400 50 6 7 8 9 9\ncpu0 1 2 3 4", 0.75, 100.0);
    REQUIRE(times);
    CHECK(times->busy == test::Approx(1.71));
    CHECK(times->idle == test::Approx(4.5));
    CHECK(times->own == 0.75);
    CHECK(bench::read_processor_times("cpu  100 20 30 400 50", 0.0, 100.0)->busy == test::Approx(1.5));
    CHECK_FALSE(bench::read_processor_times("", 0.0, 100.0));
    CHECK_FALSE(bench::read_processor_times("intr 1 2 3 4 5 6", 0.0, 100.0));
    CHECK(bench::processor_times());
}

TEST_CASE("others have the share that this process has not, unless processors were idle") {
    const bench::ProcessorTimes from{100.0, 50.0, 10.0};
    // Two processors for 5 s, all of it taken, 6 s by this process.
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{110.0, 50.0, 16.0}) == test::Approx(0.4));
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{110.0, 50.0, 20.0}) == 0.0);
    // A quarter was left.
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{107.5, 52.5, 10.0}) == 0.0);
    // Clocks that do not agree, too short a time, and nothing known.
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{110.0, 50.0, 21.0}) == 0.0);
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{100.05, 50.0, 10.0}) == 0.0);
    CHECK(bench::share_of_others(std::nullopt, from) == 0.0);
}

TEST_CASE("a tick that was counted too much is nobody's work") {
    const bench::ProcessorTimes from{100.0, 50.0, 10.0, 0.02};
    // 55 ms on two processors, all of it this process's own, and a tick more.
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{100.12, 50.0, 10.11, 0.02}) == 0.0);
    // Of 5 s two ticks say nothing.
    CHECK(bench::share_of_others(from, bench::ProcessorTimes{110.0, 50.0, 16.0, 0.02}) ==
          test::Approx(0.398));
    REQUIRE(bench::processor_times());
    CHECK(bench::processor_times()->inexact > 0.0);
}
