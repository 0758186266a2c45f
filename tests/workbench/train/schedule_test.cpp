// Learning-rate factors against their definitions, written out.
#include "core/workbench/train/schedule.h"

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

TEST_CASE("the warm-up is a share of the steps, or as many as are asked for") {
    config::TrainConfig train;
    train.steps = 100;
    train.warmup_ratio = 0.2;
    const auto warmup = [&] {
        return train::schedule_of(train, {[](std::int64_t) { return 10; }}).warmup_steps;
    };
    CHECK(warmup() == 20);
    train.warmup_steps = 7;
    CHECK(warmup() == 7);
    train.warmup_steps = 1000;
    CHECK(warmup() == 100);
}

TEST_CASE("epochs become steps, at least one and no more than train.steps may ask for") {
    const auto steps = [](double epochs, std::int64_t batches, std::int64_t accumulated = 1) {
        config::TrainConfig train;
        train.epochs = epochs;
        train.grad_accumulation_steps = accumulated;
        return train::schedule_of(train, {[=](std::int64_t) { return batches; }}).total_steps;
    };
    CHECK(steps(1.0, 10) == 10);
    CHECK(steps(2.5, 10, 3) == 10);
    CHECK(steps(1e-9, 10) == 1);
    CHECK(steps(1e6, 1'000'000) == 1'000'000'000'000);
    CHECK_THROWS_WITH(steps(1e6, 1'000'001),
                      "train.epochs: got 1e+06, which of 1000001 steps each makes more than 1000000000000 "
                      "steps: lower it, or set train.steps");
    CHECK_THROWS_WITH(steps(1e300, 1), switchyard::test::contains("got 1e+300, which of 1 steps each"));
    config::TrainConfig train;
    train.epochs = 1e300;
    train.steps = 7;
    CHECK(train::schedule_of(train, {[](std::int64_t) { return 10; }}).total_steps == 7);
}

TEST_CASE("epochs of different lengths are summed up, of the last one its share") {
    config::TrainConfig train;
    const train::EpochSizes growing{[](std::int64_t epoch) { return 10 + epoch; }, false};
    train.epochs = 2.5;
    CHECK(train::schedule_of(train, growing).total_steps == 10 + 11 + 6);
    train.grad_accumulation_steps = 4;
    train.epochs = 3.0;
    CHECK(train::schedule_of(train, growing).total_steps == 3 + 3 + 3);
    train.epochs = 1e300;
    CHECK_THROWS_WITH(train::schedule_of(train, {[](std::int64_t) { return std::int64_t{1} << 40; }, false}),
                      switchyard::test::contains("train.epochs: got 1e+300"));
}
