// Learning-rate factors against their definitions, written out.
#include <switchyard/train/schedule.h>

#include <switchyard_test.h>

using namespace switchyard;
using config::ScheduleKind;

TEST_CASE("linear warms up and falls to the end") {
    const train::Schedule schedule{ScheduleKind::linear, 4, 12, 0.0};
    CHECK(schedule.factor(0) == Approx(0.25));
    CHECK(schedule.factor(3) == Approx(1.0));
    CHECK(schedule.factor(4) == Approx(1.0));
    CHECK(schedule.factor(8) == Approx(0.5));
    CHECK(schedule.factor(12) == Approx(0.0).margin(1e-12));
    CHECK(schedule.factor(100) == Approx(0.0).margin(1e-12));
}

TEST_CASE("cosine falls by half a cosine to the final factor") {
    const train::Schedule schedule{ScheduleKind::cosine, 0, 10, 0.2};
    CHECK(schedule.factor(0) == Approx(1.0));
    CHECK(schedule.factor(5) == Approx(0.6));
    CHECK(schedule.factor(10) == Approx(0.2));
    CHECK(schedule.factor(2) == Approx(0.2 + 0.8 * 0.9045084971874737));  // (1 + cos(pi / 5)) / 2
}

TEST_CASE("constant stays, and no schedule divides by nothing") {
    CHECK(train::Schedule{ScheduleKind::constant, 2, 10, 0.0}.factor(0) == Approx(0.5));
    CHECK(train::Schedule{ScheduleKind::constant, 2, 10, 0.0}.factor(9) == Approx(1.0));
    CHECK(train::Schedule{ScheduleKind::linear, 5, 5, 0.0}.factor(4) == Approx(1.0));
}
