// Statistics of timings, against NumPy and SciPy (fixtures/make_statistics.py) and against what must hold
// whatever the numbers are. To add a case: add a sample to the script, run it, and commit the JSON; the tests
// below go through all of it.
#include <cmath>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "core/workbench/bench/measure/philox_stream.h"
#include "core/workbench/bench/measure/statistics.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using switchyard::test::Approx;
using Values = std::vector<double>;
using Blocks = std::vector<std::optional<double>>;

namespace {

const nlohmann::json& fixture() {
    static const nlohmann::json read = [] {
        std::ifstream file(switchyard::test::source_dir() / "tests/workbench/bench/fixtures/statistics.json");
        return nlohmann::json::parse(file);
    }();
    return read;
}

// Standard normal, from two uniforms (Box & Muller 1958).
double normal(PhiloxStream& random) {
    return std::sqrt(-2.0 * std::log(1.0 - random.uniform())) *
           std::cos(2.0 * 3.14159265358979323846 * random.uniform());
}

bool holds(const Interval& interval, double truth) { return interval.low <= truth && truth <= interval.high; }

Blocks blocks(const Values& values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("median, quantiles, deviation and outliers are those of NumPy and SciPy") {
    for (const auto& sample : fixture()["samples"]) {
        const Values values = sample["values"];
        CAPTURE(values);
        CHECK(median(values) == Approx(sample["median"].get<double>()));
        CHECK(median_absolute_deviation(values) == Approx(sample["deviation"].get<double>()));
        for (const auto& [p, expected] : sample["quantiles"].items()) {
            CHECK(quantile(values, std::stod(p)) == Approx(expected.get<double>()));
        }
        CHECK(outliers(values) == sample["outliers"].get<std::vector<bool>>());
    }
}

TEST_CASE("the interval of a median is the one that going through all resamples gives") {
    for (const auto& sample : fixture()["medians"]) {
        const Values values = sample["values"];
        CAPTURE(values.size());
        const Interval interval = median_interval(values, {.resamples = 40000, .seed = 7});
        CHECK(interval.median == Approx(sample["median"].get<double>()));
        CHECK(interval.low == Approx(sample["low"].get<double>()));
        CHECK(interval.high == Approx(sample["high"].get<double>()));
    }
}

TEST_CASE("the interval of a speedup resamples blocks, not arms") {
    for (const auto& sample : fixture()["ratios"]) {
        const Interval interval =
            speedup(blocks(sample["base"]), blocks(sample["arm"]), {.resamples = 40000, .seed = 7});
        CHECK(interval.median == Approx(sample["median"].get<double>()));
        CHECK(interval.low == Approx(sample["low"].get<double>()));
        CHECK(interval.high == Approx(sample["high"].get<double>()));
    }
}

TEST_CASE("the same seed gives the same interval, another seed almost the same") {
    PhiloxStream random(3);
    Values values;
    for (int i = 0; i < 40; ++i) values.push_back(std::exp(normal(random)));
    CHECK(median_interval(values, {.seed = 1}) == median_interval(values, {.seed = 1}));
    const Interval one = median_interval(values, {.seed = 1});
    const Interval other = median_interval(values, {.seed = 2});
    CHECK(one.median == other.median);
    CHECK(one.low == Approx(other.low).epsilon(0.1));
    CHECK(one.high == Approx(other.high).epsilon(0.1));
}

TEST_CASE("intervals hold the true median in about 95 of 100 experiments") {
    // Skewed noise with a long tail, as durations have it. 2000 experiments: a standard error of 0.5 %.
    const int n = GENERATE(7, 9, 12, 20, 40);
    PhiloxStream random(11, static_cast<std::uint32_t>(n));
    int held = 0;
    for (int experiment = 0; experiment < 2000; ++experiment) {
        Values values;
        for (int i = 0; i < n; ++i) values.push_back(10.0 + std::exp(normal(random)));
        held +=
            holds(median_interval(values, {.resamples = 500, .seed = static_cast<std::uint64_t>(experiment)}),
                  11.0)
                ? 1
                : 0;
    }
    CAPTURE(n, held);
    CHECK(held > 0.925 * 2000);
    CHECK(held < 0.995 * 2000);
}

TEST_CASE("a speedup's interval holds the truth and stays narrow while the machine's speed wanders") {
    constexpr double truth = 1.3;
    PhiloxStream random(12);
    int held = 0;
    double width = 0.0;
    for (int experiment = 0; experiment < 1000; ++experiment) {
        Blocks base, arm;
        double mood = 1.0;
        for (int block = 0; block < 15; ++block) {
            mood *= std::exp(0.2 * normal(random));
            base.emplace_back(13.0 * mood * std::exp(0.01 * normal(random)));
            arm.emplace_back(10.0 * mood * std::exp(0.01 * normal(random)));
        }
        const Interval interval =
            speedup(base, arm, {.resamples = 500, .seed = static_cast<std::uint64_t>(experiment)});
        held += holds(interval, truth) ? 1 : 0;
        width += (interval.high - interval.low) / 1000;
    }
    CHECK(held > 0.925 * 1000);
    CHECK(held < 0.995 * 1000);
    CHECK(width < 0.04);  // the wandering alone is +-50 %
}

TEST_CASE("comparing a thing with itself finds a difference in at most one of 20 experiments") {
    PhiloxStream random(13);
    int others = 0;
    for (int experiment = 0; experiment < 1000; ++experiment) {
        Blocks base, arm;
        for (int block = 0; block < 11; ++block) {
            base.emplace_back(5.0 * std::exp(0.05 * normal(random)));
            arm.emplace_back(5.0 * std::exp(0.05 * normal(random)));
        }
        const SpeedVerdict finding =
            judge(speedup(base, arm, {.resamples = 500, .seed = static_cast<std::uint64_t>(experiment)}));
        others += finding == SpeedVerdict::faster || finding == SpeedVerdict::slower ? 1 : 0;
    }
    CAPTURE(others);
    CHECK(others < 70);
}

TEST_CASE("swapping base and arm inverts the speedup, and scaling the unit changes nothing") {
    PhiloxStream random(14);
    Blocks base, arm, base_us, arm_us;
    for (int block = 0; block < 12; ++block) {
        base.emplace_back(5.0 * std::exp(0.3 * normal(random)));
        arm.emplace_back(4.0 * std::exp(0.3 * normal(random)));
        base_us.emplace_back(*base.back() * 1000.0);
        arm_us.emplace_back(*arm.back() * 1000.0);
    }
    const Interval forth = speedup(base, arm);
    const Interval back = speedup(arm, base);
    CHECK(back.median == Approx(1.0 / forth.median));
    CHECK(back.low == Approx(1.0 / forth.high));
    CHECK(back.high == Approx(1.0 / forth.low));
    const Interval in_us = speedup(base_us, arm_us);
    CHECK(in_us.median == Approx(forth.median));
    CHECK(in_us.low == Approx(forth.low));
}

TEST_CASE("a block where one side is missing does not count") {
    Blocks base{10.0, 10.0, 50.0, 10.0, 10.0, 10.0, 10.0};
    Blocks arm{5.0, 5.0, 5.0, std::nullopt, 5.0, 5.0, 5.0};
    base[2] = std::nullopt;
    CHECK(speedup(base, arm) == speedup(Blocks(5, 10.0), Blocks(5, 5.0)));
}

TEST_CASE("of nothing, and of one sample, no interval is claimed") {
    CHECK(std::isnan(median({})));
    CHECK(std::isnan(median_interval({}).median));
    const Interval one = median_interval(Values{3.0});
    CHECK(one.median == 3.0);
    CHECK(std::isnan(one.low));
    CHECK(std::isnan(one.high));
    CHECK(judge(one) == SpeedVerdict::cannot_tell);
}

TEST_CASE("findings follow the interval, not the median") {
    CHECK(judge({1.30, 1.20, 1.40}) == SpeedVerdict::faster);
    CHECK(judge({0.80, 0.70, 0.90}) == SpeedVerdict::slower);
    CHECK(judge({1.01, 0.99, 1.02}) == SpeedVerdict::same);
    CHECK(judge({1.015, 1.01, 1.02}) == SpeedVerdict::same);  // excludes 1, but is within 2 %
    CHECK(judge({1.10, 0.95, 1.30}) == SpeedVerdict::cannot_tell);
    CHECK(judge({1.015, 1.001, 1.03}) == SpeedVerdict::faster);
    CHECK(judge({1.10, 1.05, 1.15}, 0.2) == SpeedVerdict::same);
    CHECK(switchyard::name(SpeedVerdict::cannot_tell) == "CANNOT_TELL");
}

TEST_CASE("numbers below a bound are uniform, and a shuffle reaches every order") {
    PhiloxStream random(15);
    std::vector<int> counts(6, 0);
    for (int i = 0; i < 60000; ++i) ++counts[random.below(6)];
    double chi_squared = 0.0;
    for (const int count : counts) chi_squared += (count - 10000.0) * (count - 10000.0) / 10000.0;
    CHECK(chi_squared < 20.5);  // 99.9 % point of 5 degrees of freedom

    std::map<std::vector<int>, int> orders;
    for (int i = 0; i < 24000; ++i) {
        std::vector<int> order{0, 1, 2, 3};
        random.shuffle(order);
        ++orders[order];
    }
    CHECK(orders.size() == 24);
    for (const auto& [order, count] : orders) CHECK(std::abs(count - 1000) < 130);
}
