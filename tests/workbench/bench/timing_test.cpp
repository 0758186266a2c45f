// Interleaved timing, on a made-up clock: nothing here waits, and nothing depends on the machine.
// To add a case: give Machine an arm with a cost (a function of how often it was called and of the clock),
// run it, look at the result.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "core/workbench/bench/measure/timing.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using switchyard::test::Approx;

namespace {

// A clock that only running arms moves on.
class Machine final : public Stopwatch {
public:
    double now_ms() override { return now; }
    std::int64_t involuntary_switches() override { return counts_switches ? switches : -1; }

    Arm arm(const std::string& name, std::function<double(int call)> cost) {
        return {name, [this, name, cost] {
                    log.push_back(name);
                    now += cost(calls[name]++);
                }};
    }
    Arm steady(const std::string& name, double ms) {
        return arm(name, [ms](int) { return ms; });
    }

    double now = 1000.0;
    std::int64_t switches = 0;
    bool counts_switches = true;
    std::map<std::string, int> calls;
    std::vector<std::string> log;
};

TimingOptions blocks(int n) { return {.time_budget_ms = 1.0, .min_blocks = n, .max_blocks = n}; }

}  // namespace

TEST_CASE("steady arms are measured exactly, per call") {
    Machine machine;
    const TimingResult result =
        time_arms({machine.steady("base", 0.5), machine.steady("arm", 0.125)}, {}, machine);
    REQUIRE(result.arms.size() == 2);
    CHECK(result.arms[0].ms == Interval{0.5, 0.5, 0.5});
    CHECK(result.arms[1].ms == Interval{0.125, 0.125, 0.125});
    const Interval speedup = result.speedup_of(1, 0);
    CHECK(speedup.median == Approx(4.0));
    CHECK(speedup.low == Approx(4.0));
    CHECK(result.outliers() == 0);
}

TEST_CASE("what is slowed takes as much longer as was said, of computing and not of sleep") {
    // Whoever computes looks at it again and again: it moves on by that.
    struct Watched final : Stopwatch {
        double now_ms() override { return now += 1.0; }
        double now = 0.0;
    };
    for (const double share : {0.0, 0.5, 10.0}) {
        Watched clock;
        const double start = clock.now_ms();
        clock.now += 99.0;  // and one to look at it
        take_longer(clock, start, share);
        CHECK(clock.now == start + (share == 0.0 ? 99.0 : 100.0 + share * 100.0));
    }
}

TEST_CASE("a sample is as many calls as it takes to last the least time") {
    Machine machine;
    TimingOptions options;
    options.min_sample_ms = 4.0;
    const TimingResult result =
        time_arms({machine.steady("short", 0.001), machine.steady("half", 2.0), machine.steady("long", 30.0)},
                  options, machine);
    CHECK(std::abs(result.arms[0].calls_per_sample - 4000) <= 1);
    CHECK(result.arms[1].calls_per_sample == 2);
    CHECK(result.arms[2].calls_per_sample == 1);
}

TEST_CASE("every block holds every arm once, in orders that vary and that the seed repeats") {
    const auto orders_of = [](std::uint64_t seed) {
        Machine machine;
        TimingOptions options = blocks(24);
        options.seed = seed;
        const TimingResult result =
            time_arms({machine.steady("a", 10.0), machine.steady("b", 11.0), machine.steady("c", 12.0)},
                      options, machine);
        std::map<std::vector<int>, int> orders;
        for (int block = 0; block < 24; ++block) {
            std::vector<int> positions;
            for (const ArmTiming& arm : result.arms)
                positions.push_back(arm.samples.at(static_cast<std::size_t>(block)).position);
            ++orders[positions];
            std::sort(positions.begin(), positions.end());
            CHECK(positions == std::vector<int>{0, 1, 2});
        }
        return std::pair{orders, machine.log};
    };
    const auto [orders, log] = orders_of(5);
    CHECK(orders.size() >= 5);
    CHECK(orders_of(5).second == log);
    CHECK(orders_of(6).second != log);
}

TEST_CASE("first calls, which load and allocate, are not in the result") {
    Machine machine;
    const auto cold = [](int call) { return call < 2 ? 500.0 : 10.0; };
    const TimingResult result =
        time_arms({machine.arm("base", cold), machine.arm("arm", cold)}, blocks(9), machine);
    CHECK(result.arms[0].ms == Interval{10.0, 10.0, 10.0});
    CHECK(result.arms[0].outliers == 0);
}

TEST_CASE("the number of blocks follows the time allowed, between the least and the most") {
    const auto blocks_in = [](double budget_ms, double call_ms) {
        Machine machine;
        TimingOptions options{.time_budget_ms = budget_ms, .min_blocks = 9, .max_blocks = 60};
        const TimingResult result =
            time_arms({machine.steady("a", call_ms), machine.steady("b", call_ms)}, options, machine);
        CHECK(result.elapsed_ms == Approx(machine.now - 1000.0));
        return result.blocks;
    };
    CHECK(blocks_in(1000.0, 100.0) == 9);
    CHECK(blocks_in(100000.0, 10.0) == 60);
    const int between = blocks_in(6000.0, 100.0);
    CHECK(between > 20);
    CHECK(between < 30);
}

TEST_CASE(
    "arms that turn slow after the warm-up do not overrun the budget by more than the least number of "
    "blocks") {
    Machine machine;
    const Arm slow = machine.arm("slow", [](int call) { return call < 30 ? 1.0 : 100.0; });
    const TimingResult result =
        time_arms({slow}, {.time_budget_ms = 500.0, .min_blocks = 5, .max_blocks = 1000}, machine);
    CHECK(result.blocks == 5);
}

TEST_CASE("a machine whose speed wanders does not blur the ratio") {
    Machine machine;
    const auto mood = [&machine](double ms) {
        return [&machine, ms](int) { return ms * (2.0 + std::sin(machine.now / 700.0)); };
    };
    TimingOptions options = blocks(40);
    const TimingResult result =
        time_arms({machine.arm("base", mood(30.0)), machine.arm("arm", mood(20.0))}, options, machine);
    const Interval speedup = result.speedup_of(1, 0);
    CHECK(speedup.low > 1.47);
    CHECK(speedup.high < 1.53);
    CHECK(result.arms[0].ms.high / result.arms[0].ms.low > 1.1);  // while the times themselves are far apart
}

TEST_CASE("a sample that lost its processor is thrown away and counted") {
    Machine machine;
    const auto steal = [&machine](int call) {
        if (call % 7 != 6) return 20.0 + 0.01 * (call % 3);
        ++machine.switches;
        return 28.0;
    };
    const TimingResult result =
        time_arms({machine.arm("arm", steal), machine.steady("base", 20.0)}, blocks(21), machine);
    CHECK(result.arms[0].outliers == 3);
    CHECK(result.arms[1].outliers == 0);
    CHECK(result.outliers() == 3);
    CHECK(result.arms[0].ms.high < 20.1);
    CHECK(std::count(result.arms[0].block_ms.begin(), result.arms[0].block_ms.end(), std::nullopt) == 3);
}

TEST_CASE("losing a processor without losing time spoils nothing") {
    std::vector<TimedSample> samples;
    for (int i = 0; i < 20; ++i) samples.push_back({0, 10.0 + 0.01 * i, i % 2, false});
    mark_outliers(samples);
    CHECK(std::none_of(samples.begin(), samples.end(),
                       [](const TimedSample& sample) { return sample.outlier; }));
}

TEST_CASE("where context switches are not counted, only what stands far out is thrown away") {
    std::vector<TimedSample> samples;
    for (int i = 0; i < 20; ++i) samples.push_back({0, 10.0 + 0.02 * (i % 5), -1, false});
    samples[3].ms = 18.0;
    samples[4].ms = 10.9;
    mark_outliers(samples);
    CHECK(samples[3].outlier);
    CHECK_FALSE(samples[4].outlier);
}

TEST_CASE("short samples are never thrown away, however far out") {
    std::vector<TimedSample> samples(20, TimedSample{0, 10.0, 1, false});
    samples[0].ms = 1.0;
    mark_outliers(samples);
    CHECK_FALSE(samples[0].outlier);
}

TEST_CASE("where a third of the samples are long, that is how it runs, and all of them count") {
    std::vector<TimedSample> samples;
    for (int i = 0; i < 21; ++i) samples.push_back({0, i % 3 == 0 ? 18.0 : 10.0, i % 3 == 0 ? 1 : 0, false});
    mark_outliers(samples);
    CHECK(std::none_of(samples.begin(), samples.end(),
                       [](const TimedSample& sample) { return sample.outlier; }));
}

TEST_CASE("what an arm throws comes out of the timing") {
    Machine machine;
    const Arm broken{"broken", [] { throw std::runtime_error("no kernel"); }};
    CHECK_THROWS_WITH(time_arms({machine.steady("fine", 1.0), broken}, {}, machine), "no kernel");
}

TEST_CASE("no arms, no blocks") {
    Machine machine;
    CHECK(time_arms({}, {}, machine).blocks == 0);
}

TEST_CASE("the host's clock does not go back and waits for the device") {
    int waits = 0;
    HostStopwatch stopwatch([&waits] { ++waits; });
    const double before = stopwatch.now_ms();
    CHECK(stopwatch.now_ms() >= before);
    CHECK(waits == 2);
    CHECK(stopwatch.involuntary_switches() >= -1);
}
