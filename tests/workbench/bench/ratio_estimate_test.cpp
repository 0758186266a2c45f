// The interval and p of a ratio: against formulas worked by other means, and by simulation. A simulation says
// how often a comparison of a thing with itself finds a difference; whoever weakens the statistics makes it
// fail. To add a case: say how times vary (Noise), how they are measured (SimulatedRun) and what share may be
// wrong.
#include <cmath>
#include <numeric>
#include <optional>

#include "core/workbench/bench/measure/holm.h"
#include "core/workbench/bench/measure/ratio_estimate.h"
#include "core/workbench/bench/measure/serial_correlation.h"
#include "core/workbench/bench/measure/simulated_blocks.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using switchyard::test::Approx;
using Values = std::vector<double>;
using Blocks = std::vector<std::optional<double>>;

namespace {

Blocks optional_blocks(const Values& values) { return {values.begin(), values.end()}; }

RatioEstimate estimated(const SimulatedBlocks& run) {
    return estimate_ratio(
        log_ratios(optional_blocks(run.base_ms), optional_blocks(run.arm_ms), run.round_of));
}

struct Shares {
    double different = 0.0, faster = 0.0, slower = 0.0, same = 0.0;
};

// `take_for_independent`: as if there were nothing to know of order and starts.
Shares shares(const Noise& noise, const SimulatedRun& run, int experiments = 2000,
              bool take_for_independent = false) {
    PhiloxStream random(41, static_cast<std::uint32_t>(run.rounds * 1000 + run.blocks));
    Shares found;
    const double one = 1.0 / experiments;
    for (int experiment = 0; experiment < experiments; ++experiment) {
        const auto blocks_of = simulate_blocks(noise, run, random);
        SpeedVerdict verdict{};
        if (take_for_independent) {
            verdict = judge(speedup(optional_blocks(blocks_of.base_ms), optional_blocks(blocks_of.arm_ms),
                                    {.resamples = 400}));
        } else {
            const auto estimate = estimated(blocks_of);
            verdict = verdict_of(estimate, estimate.p);
            // A verdict never says something else than the p beside it.
            REQUIRE((estimate.p < 0.05) == (estimate.ratio.low > 1.0 || estimate.ratio.high < 1.0));
        }
        found.faster += verdict == SpeedVerdict::faster ? one : 0.0;
        found.slower += verdict == SpeedVerdict::slower ? one : 0.0;
        found.same += verdict == SpeedVerdict::same ? one : 0.0;
    }
    found.different = found.faster + found.slower;
    return found;
}

}  // namespace

// The standard error of a share of 5 % over 2000 experiments is 0.5 %.
TEST_CASE(
    "20 blocks of noise that lasts: a thing is not found to differ from itself more often than it may") {
    const double correlation = GENERATE(0.0, 0.3, 0.5, 0.7);
    CAPTURE(correlation);
    CHECK(shares({.blocks = 0.05, .correlation = correlation}, {.blocks = 20}).different < 0.068);
}

TEST_CASE("what would happen if those blocks were taken for independent") {
    CHECK(shares({.blocks = 0.05, .correlation = 0.5}, {.blocks = 20}, 500, true).different > 0.12);
    CHECK(shares({.blocks = 0.05, .correlation = 0.7}, {.blocks = 20}, 500, true).different > 0.22);
}

TEST_CASE("at a correlation of 0.9 twenty blocks are worth two, and up to 15 percent are wrong") {
    const double wrong = shares({.blocks = 0.05, .correlation = 0.9}, {.blocks = 20}).different;
    CHECK(wrong < 0.15);
    CHECK(shares({.blocks = 0.05, .correlation = 0.9}, {.rounds = 10, .blocks = 6}).different < 0.16);
}

TEST_CASE("what differs between two starts of the same thing is not taken for a difference of things") {
    const double starts = GENERATE(0.005, 0.01, 0.02);
    const auto run = GENERATE(SimulatedRun{5, 4, 1.0}, SimulatedRun{8, 6, 1.0});
    CAPTURE(starts, run.rounds);
    CHECK(shares({.blocks = 0.01, .starts = starts}, run).different < 0.068);
}

TEST_CASE("what would happen if each were started once") {
    CHECK(shares({.blocks = 0.01, .starts = 0.01}, {.rounds = 1, .blocks = 20}).different > 0.2);
    CHECK(shares({.blocks = 0.01, .starts = 0.02}, {.rounds = 1, .blocks = 20}).different > 0.45);
}

TEST_CASE("noise that lasts and starts that differ, both at once") {
    const double correlation = GENERATE(0.3, 0.5, 0.7);
    const double starts = GENERATE(0.0, 0.01);
    const auto run = GENERATE(SimulatedRun{5, 4, 1.0}, SimulatedRun{6, 10, 1.0}, SimulatedRun{10, 6, 1.0});
    CAPTURE(correlation, starts, run.rounds);
    const double noise = GENERATE(0.01, 0.04);
    CHECK(shares({noise, correlation, starts}, run).different < 0.075);
}

TEST_CASE("a slow-down of 3 percent is found, and only as one") {
    const auto found = shares({.blocks = 0.01, .correlation = 0.3, .starts = 0.003}, {8, 6, 1.03}, 1000);
    CHECK(found.slower > 0.95);
    CHECK(found.faster == 0.0);
}

TEST_CASE("equal things that hardly vary are the same") {
    CHECK(shares({.blocks = 0.01, .starts = 0.003}, {8, 6, 1.0}, 500).same > 0.95);
}

TEST_CASE("of several rounds the interval is Student's of their medians") {
    // scipy.stats: t.ppf(0.975, 2) = 4.302652729911275; medians 0.1, 0.2, 0.3: error 0.1 / sqrt(3).
    const RoundLogs rounds{{0.1, 0.1}, {0.2, 0.2}, {0.3, 0.3}};
    const auto estimate = estimate_ratio(rounds);
    const double reach = 4.302652729911275 * 0.1 / std::sqrt(3.0);
    CHECK(estimate.rounds == 3);
    CHECK(estimate.blocks == 6);
    // Two blocks a round have no variogram: the series as a whole tells how alike they are.
    const double likeness = estimate.error / (0.1 / std::sqrt(3.0));
    CHECK(likeness >= 1.0);
    CHECK(std::log(estimate.ratio.median) == Approx(0.2));
    CHECK(std::log(estimate.ratio.low) == Approx(0.2 - reach * likeness));
    CHECK(std::log(estimate.ratio.high) == Approx(0.2 + reach * likeness));
    // Of blocks that do not follow each other's mood, nothing is widened.
    const RoundLogs moody{{0.1, 0.2, 0.0}, {0.2, 0.3, 0.1}, {0.3, 0.4, 0.2}};
    CHECK(estimate_ratio(moody).error == Approx(0.1 / std::sqrt(3.0)));
    // t = 0.2 / (0.1 / sqrt(3)) = 3.4641 with 2 degrees: p = 1 - t / sqrt(t * t + 2) = 0.0742
    CHECK(estimate_ratio(moody).p == Approx(1.0 - std::sqrt(12.0 / 14.0)));
}

TEST_CASE("the error of a single round's median is the bootstrap's") {
    PhiloxStream random(5);
    Values values;
    for (int i = 0; i < 21; ++i) values.push_back(std::exp(standard_normal(random)));
    const auto estimate = estimate_ratio({values});
    double sum = 0.0, squares = 0.0;
    constexpr int resamples = 40000;
    Values drawn(values.size());
    for (int i = 0; i < resamples; ++i) {
        for (double& value : drawn) value = values[random.below(21)];
        const double found = median(drawn);
        sum += found / resamples;
        squares += found * found / resamples;
    }
    const double of_bootstrap = std::sqrt((squares - sum * sum) * 21.0 / 20.0);
    const double worth = effective_count(21, estimate.correlation);
    CHECK(estimate.error / std::sqrt(21.0 / worth) == Approx(of_bootstrap).epsilon(0.03));
}

TEST_CASE("how many independent values correlated ones are worth is what their matrix says") {
    for (const double correlation : {0.0, 0.3, 0.7, 0.95}) {
        double sum = 0.0;
        for (int i = 0; i < 15; ++i) {
            for (int j = 0; j < 15; ++j) sum += std::pow(correlation, std::abs(i - j));
        }
        CHECK(effective_count(15, correlation) == Approx(15.0 * 15.0 / sum));
    }
}

TEST_CASE("the correlation of a long series is found, in one piece and in rounds of any level") {
    for (const double truth : {0.0, 0.4, 0.8}) {
        PhiloxStream random(17);
        RoundLogs rounds(60);
        Values series;
        double mood = standard_normal(random);
        for (std::size_t i = 0; i < 1200; ++i) {
            mood = truth * mood + std::sqrt(1.0 - truth * truth) * standard_normal(random);
            series.push_back(mood);
            rounds[i / 20].push_back(mood + 3.0 * static_cast<double>(i / 20));
        }
        CHECK(lag_one_correlation(series) == Approx(truth).margin(0.06));
        CHECK(lag_one_within(rounds) == Approx(truth).margin(0.1));
    }
}

TEST_CASE("things that were not timed in turns are compared by Welch's test of their rounds") {
    // By hand: errors 0.02/sqrt(4) and 0.04/sqrt(4) of deviations 0.02 and 0.04.
    const double a = 0.02 * std::sqrt(3.0 / 2.0) / std::sqrt(2.0);
    const RoundLogs base{{1.0 - a}, {1.0 + a}, {1.0 - a}, {1.0 + a}};
    const RoundLogs arm{{0.9 - 2 * a}, {0.9 + 2 * a}, {0.9 - 2 * a}, {0.9 + 2 * a}};
    const auto estimate = estimate_apart(base, arm);
    const double variance = 4.0 * a * a / 3.0, of_arm = 4.0 * variance;
    CHECK(std::log(estimate.ratio.median) == Approx(0.1));
    CHECK(estimate.error == Approx(std::sqrt((variance + of_arm) / 4.0)));
    // (1 + 4)^2 / (1 / 3 + 16 / 3)
    CHECK(estimate.freedom == Approx(25.0 / (17.0 / 3.0)));
    CHECK(std::isnan(estimate_apart({{1.0}}, arm).ratio.low));
}

TEST_CASE("what happens seldom is in the total, not in the median") {
    Values base(18, 100.0), arm(18, 100.0);
    for (std::size_t block = 2; block < 18; block += 6) arm[block] = 160.0;
    const std::vector<int> rounds(18, 0);
    CHECK(estimate_ratio(log_ratios(optional_blocks(base), optional_blocks(arm), rounds)).ratio.median ==
          Approx(1.0));
    CHECK(total_ratio(optional_blocks(base), optional_blocks(arm)) == Approx(18.0 / (15.0 + 3.0 * 1.6)));
}

TEST_CASE("blocks that one of both lacks do not count, and rounds without any are none") {
    const Blocks base{1.0, std::nullopt, 2.0, 4.0}, arm{2.0, 1.0, std::nullopt, 2.0};
    const auto logs = log_ratios(base, arm, std::vector<int>{0, 0, 1, 2});
    REQUIRE(logs.size() == 2);
    CHECK(logs[0] == Values{-std::log(2.0)});
    CHECK(logs[1] == Values{std::log(2.0)});
    CHECK(total_ratio(base, arm) == Approx(5.0 / 4.0));
    CHECK(std::isnan(estimate_ratio({}).ratio.median));
    CHECK(std::isnan(estimate_ratio({{0.1}}).ratio.low));
}

TEST_CASE("Holm's correction: his steps, in the order given") {
    // statsmodels.stats.multitest.multipletests([0.01, 0.04, 0.03, 0.005], method="holm")
    const auto corrected = holm(Values{0.01, 0.04, 0.03, 0.005});
    CHECK(corrected[0] == Approx(0.03));
    CHECK(corrected[1] == Approx(0.06));
    CHECK(corrected[2] == Approx(0.06));
    CHECK(corrected[3] == Approx(0.02));
    const auto partly = holm(Values{0.5, std::nan(""), 0.9});
    CHECK(partly[0] == Approx(1.0));
    CHECK(std::isnan(partly[1]));
}

TEST_CASE(
    "of four equal arms one differs in about one of nine experiments, and after Holm in one of twenty") {
    PhiloxStream random(43);
    int plain = 0, corrected = 0;
    constexpr int experiments = 2000;
    for (int experiment = 0; experiment < experiments; ++experiment) {
        // Three comparisons with one base.
        std::vector<Values> arms;
        std::vector<int> round_of;
        for (int arm = 0; arm < 4; ++arm) {
            const auto run = simulate_blocks({.blocks = 0.05}, {.rounds = 6, .blocks = 5}, random);
            arms.push_back(run.base_ms);
            round_of = run.round_of;
        }
        Values p;
        for (std::size_t arm = 1; arm < 4; ++arm)
            p.push_back(
                estimate_ratio(log_ratios(optional_blocks(arms[0]), optional_blocks(arms[arm]), round_of)).p);
        const auto after = holm(p);
        plain += std::any_of(p.begin(), p.end(), [](double one) { return one < 0.05; }) ? 1 : 0;
        corrected += std::any_of(after.begin(), after.end(), [](double one) { return one < 0.05; }) ? 1 : 0;
    }
    CHECK(plain > 0.075 * experiments);
    CHECK(corrected < 0.06 * experiments);
}
