// Equivalence of final losses, against Student's distribution with four degrees of freedom in closed form.
// To add a case: losses by seed of base and arm, the margin, what comes out by hand.
#include <cmath>
#include <limits>
#include <vector>

#include "core/workbench/bench/measure/equivalence.h"
#include "core/workbench/compare/experiment/judge_arms.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using switchyard::test::Approx;
using Losses = std::vector<double>;

namespace {

const Losses base{1.00, 1.10, 0.90, 1.05, 0.95};

Losses plus(const Losses& differences) {
    Losses sum = base;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += differences[i];
    return sum;
}

}  // namespace

TEST_CASE("two one-sided tests, by hand") {
    // Mean 0.01, standard error sqrt(0.00025 / 4 / 5), quantile 2.131847.
    const auto result = test_equivalence(base, plus({0.01, 0.02, 0.00, 0.015, 0.005}), {0.02, false});
    CHECK(result.verdict == Equivalence::equivalent);
    CHECK(result.difference == Approx(0.01));
    CHECK(result.low == Approx(0.01 - 2.131847 * 0.003535534).epsilon(1e-5));
    CHECK(result.high == Approx(0.01 + 2.131847 * 0.003535534).epsilon(1e-5));
    CHECK(result.p == Approx(0.0237114).epsilon(1e-4));  // F(-sqrt(8)) = 1/2 - 3/8 * sqrt(8/3) * 7/9
    CHECK(result.seeds == 5);
}

TEST_CASE("an interval that reaches over the margin decides nothing, one beyond it does") {
    const auto wide = test_equivalence(base, plus({0.01, 0.02, 0.00, 0.015, 0.005}), {0.015, false});
    CHECK(wide.verdict == Equivalence::cannot_tell);
    CHECK_THAT(wide.reason, switchyard::test::contains("more seeds"));
    const auto beyond = test_equivalence(base, plus({0.11, 0.12, 0.10, 0.115, 0.105}), {0.02, false});
    CHECK(beyond.verdict == Equivalence::different);
    CHECK(beyond.p > 0.99);
}

TEST_CASE("a relative margin is one of the ratio") {
    Losses twice = base;
    for (double& loss : twice) loss *= 1.01;
    const auto result = test_equivalence(base, twice, {0.02, true});
    CHECK(result.verdict == Equivalence::equivalent);
    CHECK(result.difference == Approx(0.01));
    CHECK(result.low == Approx(0.01));
    CHECK(test_equivalence(base, twice, {0.005, true}).verdict == Equivalence::different);
    CHECK(test_equivalence({Losses{0.0, 1.0}}, {Losses{1.0, 1.0}}, {0.02, true}).reason ==
          "a relative margin needs losses above 0");
}

TEST_CASE("the same losses are equivalent without any spread") {
    const auto result = test_equivalence(base, base, {0.02, false});
    CHECK(result.verdict == Equivalence::equivalent);
    CHECK(result.p == 0.0);
}

TEST_CASE("one seed, or a loss that is not finite, tells nothing") {
    CHECK(test_equivalence({Losses{1.0}}, {Losses{1.0}}, {}).reason == "an interval needs two seeds");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(test_equivalence(base, plus({0, 0, nan, 0, 0}), {}).reason == "a final loss is not finite");
    CHECK(test_equivalence(base, plus({0, 0, nan, 0, 0}), {0.02, true}).reason ==
          "a final loss is not finite");
}

TEST_CASE("margins as they are written") {
    LossMargin margin;
    CHECK(read_margin("0.02", margin).empty());
    CHECK(margin == LossMargin{0.02, false});
    CHECK(read_margin("2%", margin).empty());
    CHECK(margin == LossMargin{0.02, true});
    for (const char* wrong : {"", "%", "-1", "0", "two", "0.02x", "nan"})
        CHECK(read_margin(wrong, margin) ==
              "expected a margin above 0 as 0.02 (in the unit of the loss) or 2% (of the "
              "loss), got '" +
                  std::string(wrong) + "'");
}

TEST_CASE("the final loss is the mean over the last tenth of the steps") {
    Losses losses(20, 5.0);
    losses[18] = 1.0;
    losses[19] = 2.0;
    std::vector<bool> skipped(20, false);
    CHECK(final_loss(losses, skipped) == Approx(1.5));
    CHECK(final_loss(Losses{3.0}, {false}) == 3.0);
    skipped[18] = true;
    CHECK(final_loss(losses, skipped) == 2.0);
    skipped[19] = true;
    CHECK(std::isnan(final_loss(losses, skipped)));
}
