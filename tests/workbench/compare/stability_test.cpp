// When training counts as stable. To add a case: losses of an arm and of the base, which steps were skipped,
// what is said.
#include "core/workbench/compare/experiment/stability.h"

#include <cmath>
#include <functional>

#include <switchyard_test.h>

using namespace switchyard::compare;

namespace {

using Loss = std::function<double(int step)>;

StepRecord record(int steps, const Loss& loss, const std::vector<int>& skipped = {}) {
    StepRecord made;
    for (int i = 0; i < steps; ++i) made.losses.push_back(loss(i));
    made.skipped.resize(made.losses.size());
    for (const int i : skipped) made.skipped[static_cast<std::size_t>(i)] = true;
    return made;
}

// Falls as a loss does, with a scatter that repeats every 7 steps.
double falling(int step) { return 2.0 / (1.0 + 0.02 * step) + 0.1 * std::sin(step * 6.2831853 / 7.0); }

std::string said(const StepRecord& arm, const StepRecord* base = nullptr) {
    const auto result = judge_stability(arm, base);
    return (!result.stable   ? "-"
            : *result.stable ? "yes"
                             : "no") +
           (result.reason.empty() ? "" : ": " + result.reason);
}

}  // namespace

TEST_CASE("a loss that falls is stable, and so is one that scatters about a value") {
    CHECK(said(record(200, falling)) == "yes");
    CHECK(said(record(200, [](int step) { return 1.0 + 0.5 * std::sin(step * 1.7); })) == "yes");
}

TEST_CASE("a loss that rises by more than a tenth and its scatter is not") {
    CHECK(said(record(100, [](int step) { return 1.0 + 0.01 * step; })) ==
          "no: the loss rose from 1.045 to 1.945");
    CHECK(said(record(100, [](int step) { return 1.0 + 0.0005 * step; })) == "yes");
    // By a seventh, but within three standard errors of ten steps that scatter by one.
    CHECK(said(record(100, [](int step) { return 1.0 + (step % 2) * 2.0 + (step >= 90 ? 0.3 : 0.0); })) ==
          "yes");
}

TEST_CASE("a loss that leaves the base's is not stable, though it falls") {
    const auto base = record(100, falling);
    const auto far = record(100, [](int step) { return falling(step) * 1.2; });
    CHECK(said(far, &base).starts_with("no: its loss at the end is "));
    CHECK(judge_stability(far, &base).loss_drift == Approx(0.2));
    const auto near = record(100, [](int step) { return falling(step) * 0.97; });
    CHECK(said(near, &base) == "yes");
    CHECK(judge_stability(near, &base).loss_drift == Approx(-0.03));
    CHECK(std::isnan(judge_stability(base, nullptr).loss_drift));
}

TEST_CASE("a loss scale may back off at first, and now and then later") {
    std::vector<int> opening;
    for (int i = 0; i < 16; ++i) opening.push_back(i);
    CHECK(said(record(200, falling, opening)) == "yes");
    opening.push_back(100);
    CHECK(said(record(200, falling, opening)) == "yes");
    opening.push_back(150);
    CHECK(said(record(200, falling, opening)) ==
          "no: 2 of the 184 steps after the first 16 were skipped; stable is at most 1");
    CHECK(judge_stability(record(200, falling, opening), nullptr).late_skips == 2);
    CHECK(said(record(416, falling, {100, 200, 300, 400})) == "yes");
    CHECK(said(record(416, falling, {100, 200, 300, 400, 410})) ==
          "no: 5 of the 400 steps after the first 16 were skipped; stable is at most 4");
}

TEST_CASE("steps that were skipped do not count as losses") {
    const auto base = record(100, falling);
    const auto arm = record(100, [](int step) { return step == 95 ? 1e9 : falling(step); }, {95});
    CHECK(said(arm, &base) == "yes");
    CHECK(judge_stability(arm, &base).loss_drift == 0.0);
}

TEST_CASE("an accuracy more than a point from the base's after the same seed is not stable") {
    using Accuracies = std::vector<std::optional<double>>;
    const auto judged = [](const Accuracies& arm, const Accuracies& base,
                           Stability stability = {true, "", 0.0, 0}) {
        judge_accuracy(arm, base, stability);
        return (!stability.stable   ? "-"
                : *stability.stable ? "yes"
                                    : "no") +
               (stability.reason.empty() ? "" : ": " + stability.reason);
    };
    CHECK(judged({0.84, 0.85}, {0.84, 0.84}) == "yes");  // a point is within a point, whatever its last bit
    CHECK(judged({0.83, 0.91}, {0.84, 0.92}) == "yes");
    CHECK(judged({0.84, 0.81}, {0.84, 0.84}) == "no: seed 2: accuracy 0.81, the base has 0.84");
    CHECK(judged({0.87}, {0.84}) == "no: seed 1: accuracy 0.87, the base has 0.84");
    CHECK(judged({0.84, 0.82}, {0.82, 0.84}) ==  // equal medians do not help
          "no: seed 1: accuracy 0.84, the base has 0.82; seed 2: accuracy 0.82, the base has 0.84");
    CHECK(judged({0.8299}, {0.84}) == "no: seed 1: accuracy 0.8299, the base has 0.84");
    CHECK(judged({std::nullopt, 0.84}, {0.5, std::nullopt}) == "yes");
    CHECK(judged({}, {0.84}) == "yes");
    CHECK(judged({0.5, 0.5, 0.5, 0.5, 0.5}, {0.6, 0.6, 0.6, 0.6, 0.6}) ==
          "no: seed 1: accuracy 0.5, the base has 0.6; seed 2: accuracy 0.5, the base has 0.6; seed 3: "
          "accuracy "
          "0.5, the base has 0.6; and 2 other seeds");
    // Beside what the losses say: a reason of theirs stays, that there were too few steps does not.
    CHECK(judged({0.5}, {0.6}, {false, "the loss rose from 1 to 2", 0.0, 0}) ==
          "no: the loss rose from 1 to 2; seed 1: accuracy 0.5, the base has 0.6");
    CHECK(judged({0.5}, {0.6}, {std::nullopt, "at least 12 steps are needed; there are 11", 0.0, 0}) ==
          "no: seed 1: accuracy 0.5, the base has 0.6");
    CHECK(judged({0.6}, {0.6}, {std::nullopt, "at least 12 steps are needed; there are 11", 0.0, 0}) ==
          "-: at least 12 steps are needed; there are 11");
}

TEST_CASE("a few steps tell nothing") {
    CHECK(said(record(11, falling)) == "-: at least 12 steps are needed; there are 11");
    CHECK(said(record(12, falling)) == "yes");
}
