// The coordinator with made-up arms, on a made-up clock: nothing waits, nothing depends on the machine.
// To add a case: say in MadeUp what an arm does, run it, look at the comparison and at the log.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/workbench/bench/measure/philox_stream.h"
#include "core/workbench/compare/experiment/comparison_report.h"

#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

Comparison compared(const std::vector<std::pair<std::string, MadeUp>>& arms,
                    const ExperimentSettings& settings, Log& log) {
    std::vector<StartedArm> started;
    for (const auto& [name, arm] : arms) started.push_back(made_up_arm(name, arm, log));
    return run_experiment(std::move(started), settings);
}

Comparison compared(const std::vector<std::pair<std::string, MadeUp>>& arms,
                    const ExperimentSettings& settings = quick_settings()) {
    Log log;
    return compared(arms, settings, log);
}

MadeUp noisy(double ms, double spread, std::uint64_t seed) {
    auto random = std::make_shared<PhiloxStream>(seed);
    MadeUp arm;
    arm.step_ms = [=](std::int64_t) { return ms * (1.0 + spread * (random->uniform() - 0.5)); };
    return arm;
}

}  // namespace

TEST_CASE("arms of a known ratio: the ratio, the interval and the words") {
    const auto result = compared({{"base", noisy(200, 0.1, 1)}, {"arm", noisy(100, 0.1, 2)}});
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.pairs[0].speedup.median == Approx(2.0).epsilon(0.02));
    CHECK(result.pairs[0].verdict == SpeedVerdict::faster);
    CHECK(result.pairs[0].p < 0.001);
    CHECK(result.arms[0].samples_per_second == Approx(20.0).epsilon(0.02));
    CHECK(result.arms[1].tokens_per_second == Approx(1000.0).epsilon(0.02));
    CHECK(result.arms[1].step_ms.median == Approx(100.0).epsilon(0.02));
    CHECK(result.arms[1].peak_memory_bytes == 1'000'000);
    CHECK(result.exit_code() == 0);
    CHECK(compared({{"base", noisy(100, 0.1, 1)}, {"arm", noisy(200, 0.1, 2)}}).pairs[0].verdict ==
          SpeedVerdict::slower);
}

TEST_CASE("drift is from the arm that is the base in the end") {
    auto settings = quick_settings();
    settings.drift = [](std::size_t, std::size_t base) {
        return Drift{0.0, base == 0 ? 1e-2 : 1e-7, base == 0 ? 1e-2 : 1e-7};
    };
    MadeUp crashing = steady(200);
    crashing.gone_from_turn = 8;
    const auto result = compared({{"a", crashing}, {"b", steady(300)}, {"c", steady(100)}}, settings);
    CHECK_FALSE(result.arms[0].ok());
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.pairs[0].verdict != SpeedVerdict::wrong);
    CHECK(result.arms[2].drift.output == 1e-7);
    CHECK(std::isnan(result.arms[1].drift.output));
}

TEST_CASE("an arm against itself is the same, or cannot be told from it") {
    int others = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto result =
            compared({{"a", noisy(300, 0.2, 10 + seed)}, {"b", noisy(300, 0.2, 1000 + seed)}});
        const auto verdict = result.pairs[0].verdict;
        others += verdict == SpeedVerdict::same || verdict == SpeedVerdict::cannot_tell ? 0 : 1;
    }
    CHECK(others <= 4);
}

TEST_CASE("equal times are the same; a difference of 2 percent is within what is the same") {
    CHECK(compared({{"a", steady(300)}, {"b", steady(300)}}).pairs[0].verdict == SpeedVerdict::same);
    CHECK(compared({{"a", steady(300)}, {"b", steady(296)}}).pairs[0].verdict == SpeedVerdict::same);
    CHECK(compared({{"a", steady(300)}, {"b", steady(290)}}).pairs[0].verdict == SpeedVerdict::faster);
}

TEST_CASE("every block has every arm once, in changing order, the same steps each") {
    auto settings = quick_settings();
    settings.blocks = 30;
    Log log;
    const auto result = compared({{"a", steady(300)}, {"b", steady(200)}, {"c", steady(250)}}, settings, log);
    CHECK(result.blocks == 30);
    std::set<std::string> orders;
    std::size_t turn = log.size() - 3 - 90;  // the last three are the ends
    for (int block = 0; block < 30; ++block) {
        std::string order;
        for (int i = 0; i < 3; ++i) order += log[turn++].substr(0, 1);
        orders.insert(order);
        std::sort(order.begin(), order.end());
        CHECK(order == "abc");
    }
    CHECK(orders.size() == 6);
    for (const auto& arm : result.arms) CHECK(arm.losses.size() == result.arms[0].losses.size());
}

TEST_CASE("the time that is allowed decides how many blocks there are, within their bounds") {
    auto settings = quick_settings();
    settings.time_ms = 20'000;
    std::vector<std::pair<int, double>> told;  // blocks, and seconds until their end
    settings.planned = [&](int blocks, double seconds) { told.emplace_back(blocks, seconds); };
    const auto result = compared({{"a", steady(300)}, {"b", steady(200)}}, settings);
    CHECK(result.blocks >= 30);
    CHECK(result.blocks <= 40);
    CHECK(result.steps_per_block == 1);
    CHECK(result.lead_in == 0);
    REQUIRE(told.size() == 1);
    CHECK(told[0].first == result.blocks);
    CHECK(told[0].second == Approx(20.0).epsilon(0.05));
    settings.time_ms = 100;
    CHECK(compared({{"a", steady(300)}, {"b", steady(200)}}, settings).blocks == 9);
    REQUIRE(told.size() == 2);
    CHECK(told[1].first == 9);
    CHECK(told[1].second > 9 * 0.5);  // and the warm-up
    CHECK(told[1].second < 9 * 0.5 + 2.5);
}

TEST_CASE("a fast arm does not make a slow one warm up for longer than the time that is allowed") {
    auto settings = quick_settings();
    settings.time_ms = 1000;
    settings.blocks = 2;
    settings.steps_per_block = 1;
    const auto result = compared({{"slow", steady(50)}, {"fast", steady(0.01)}}, settings);
    CHECK(result.warm_up_steps == 5);  // one, and as many as fit a fifth of the time
    CHECK(result.lead_in == 1);
}

TEST_CASE("short steps: several a block, and some before that are not timed") {
    // After its turn of rest an arm's first step is slow.
    MadeUp cold = steady(2);
    auto settings = quick_settings();
    settings.blocks = 9;
    const auto result = compared({{"a", cold}, {"b", steady(4)}}, settings);
    CHECK(result.steps_per_block == 50);
    CHECK(result.lead_in == 5);
    CHECK(result.arms[0].step_ms.median == Approx(2.0));
}

TEST_CASE("too few blocks tell nothing") {
    auto settings = quick_settings();
    settings.blocks = 3;
    const auto result = compared({{"a", steady(300)}, {"b", steady(100)}}, settings);
    CHECK(result.pairs[0].verdict == SpeedVerdict::cannot_tell);
    CHECK(result.pairs[0].reason == "at least six blocks are needed; there are 3");
}

TEST_CASE("an arm that crashes is a row with its reason; the others finish") {
    MadeUp crashing = steady(200);
    crashing.gone_from_turn = 8;
    const auto result = compared({{"a", steady(300)}, {"bad", crashing}, {"c", steady(100)}});
    CHECK(result.arms[1].status == ArmStatus::crashed);
    CHECK_THAT(result.arms[1].reason, contains("was killed by signal 11 (Segmentation fault) in block "));
    CHECK_THAT(result.arms[1].reason, contains("\nSegmentation fault"));
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.pairs[0].arm == 2);
    CHECK(result.pairs[0].verdict == SpeedVerdict::faster);
    CHECK(result.exit_code() == 1);
}

TEST_CASE("an arm that hangs, one that gives NaN, one that breaks the protocol") {
    MadeUp hanging = steady(200), broken = steady(200), babbling = steady(200);
    hanging.silent_from_turn = 3;
    broken.loss = [](std::int64_t step) { return step == 4 ? std::nan("") : 1.0; };
    babbling.instead = "Epoch 1: 100%";
    const auto result = compared(
        {{"a", steady(300)}, {"hangs", hanging}, {"nan", broken}, {"babbles", babbling}, {"e", steady(100)}});
    CHECK(result.arms[1].status == ArmStatus::timed_out);
    CHECK_THAT(result.arms[1].reason, contains("did not answer within 300 s while it warmed up"));
    CHECK(result.arms[2].status == ArmStatus::nan);
    CHECK(result.arms[2].reason == "the loss is not finite at step 5");
    CHECK(result.arms[3].status == ArmStatus::protocol_error);
    CHECK(result.arms[3].reason == "its line is not JSON: 'Epoch 1: 100%'");
    CHECK(result.arms[4].ok());
    CHECK(result.pairs.size() == 1);
}

TEST_CASE("where the base fails the next arm is what the others are held against") {
    MadeUp crashing = steady(200);
    crashing.gone_from_turn = 0;
    const auto result = compared({{"bad", crashing}, {"b", steady(300)}, {"c", steady(100)}});
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.pairs[0].base == 1);
}

TEST_CASE("an arm cannot have taken longer than its turn") {
    MadeUp boasting = steady(200);
    boasting.claims = 1.5;
    const auto result = compared({{"a", steady(300)}, {"b", boasting}});
    CHECK(result.arms[1].status == ArmStatus::protocol_error);
    CHECK(result.arms[1].reason == "it reports 300 ms for 1 step; its turn took 200 ms");
}

TEST_CASE("an arm whose clock leaves most of its time out is timed from outside") {
    MadeUp cheating = steady(300);
    cheating.claims = 0.1;
    const auto result = compared({{"a", steady(300)}, {"b", cheating}});
    CHECK(result.arms[1].by_coordinator);
    CHECK(result.arms[1].step_ms.median == Approx(300.0));
    CHECK(result.pairs[0].verdict == SpeedVerdict::same);
}

TEST_CASE("a block that is an outlier is left out on both sides") {
    MadeUp disturbed;
    disturbed.step_ms = [](std::int64_t step) { return step == 12 ? 900.0 : 300.0; };
    const auto result = compared({{"a", steady(300)}, {"b", disturbed}});
    CHECK(result.arms[1].outliers == 1);
    CHECK(result.pairs[0].speedup.low == Approx(1.0));
    CHECK_THAT(to_text(result), contains("samples left out as outliers\n"));  // and nothing follows
}

TEST_CASE("drift beyond what rounding explains is WRONG, whatever the speed") {
    auto settings = quick_settings();
    settings.drift = [](std::size_t, std::size_t) { return Drift{0.0, 1e-3, 1e-6}; };
    const auto result = compared({{"a", steady(300)}, {"b", steady(100)}}, settings);
    CHECK(result.pairs[0].verdict == SpeedVerdict::wrong);
    CHECK(result.pairs[0].reason == "its outputs are 1.0e-3 from the base's, rounding explains 1.9e-6");
    CHECK(result.exit_code() == 5);
    MadeUp half = steady(100);
    half.dtype = "bfloat16";
    CHECK(compared({{"a", steady(300)}, {"b", half}}, settings).pairs[0].verdict == SpeedVerdict::faster);
}

TEST_CASE("a loss is judged where the base has no outputs, as with a fused projection") {
    const double unknown = std::nan("");
    const auto allowed = allowed_drift({2.0, unknown, 3.0}, "float32", "float32");
    CHECK(allowed.loss == Approx(allowed.gradient));
    CHECK(std::isnan(allowed.output));
    CHECK(too_far({2.0 * allowed.loss, unknown, 0.0}, allowed) != "");
    CHECK(too_far({0.5 * allowed.loss, unknown, 0.0}, allowed) == "");
}

TEST_CASE("final losses by seed are tested for equivalence") {
    auto settings = quick_settings();
    settings.seeds = 5;
    settings.loss_steps = 120;
    settings.loss_margin = LossMargin{0.02, false};
    MadeUp like = steady(100), unlike = steady(100);
    like.seed_shift = [](int seed) { return seed < 0 ? 0.0 : 0.001 * seed; };
    unlike.seed_shift = [](int seed) { return seed < 0 ? 0.0 : 0.2 + 0.001 * seed; };
    const auto result = compared({{"a", steady(100)}, {"b", like}, {"c", unlike}}, settings);
    REQUIRE(result.pairs.size() == 2);
    REQUIRE(result.pairs[0].loss.has_value());
    CHECK(result.pairs[0].loss->verdict == Equivalence::equivalent);
    CHECK(result.pairs[0].loss->difference == Approx(0.002));
    CHECK(result.pairs[1].loss->verdict == Equivalence::different);
    CHECK(result.arms[1].seed_losses.size() == 5);
    CHECK(result.arms[1].seed_losses[0].size() == 120);
    CHECK(result.arms[1].final_losses.size() == 5);
}

TEST_CASE("external arms do not run where the arm whose weights they load has failed") {
    Log log;
    std::vector<StartedArm> arms;
    MadeUp reference_arm = steady(100);
    reference_arm.first_loss = std::nan("");
    arms.push_back(made_up_arm("peer", steady(100), log));
    arms.front().spec.program = {"peer"};
    arms.push_back(made_up_arm("reference_arm", reference_arm, log));
    arms.push_back(made_up_arm("other", steady(100), log));
    auto settings = quick_settings();
    settings.reference_arm = 1;
    const auto result = run_experiment(std::move(arms), settings);
    CHECK(result.arms[0].reason ==
          "was not run: it loads weights and batches of reference_arm, which failed");
    CHECK(result.arms[1].status == ArmStatus::nan);
    CHECK(result.arms[2].ok());
    CHECK(log.front() == "reference_arm prepares");
}

TEST_CASE("an arm for which nothing can be made that it loads is a row with the reason, the others go on") {
    Log log;
    std::vector<StartedArm> arms;
    arms.push_back(made_up_arm("base", steady(100), log));
    arms.push_back(made_up_arm("peer", steady(100), log));
    auto settings = quick_settings();
    settings.supply = [](const Preparation& what) {
        return what.arm == 1 ? std::string("its batches could not be written: no room") : "";
    };
    const auto result = run_experiment(std::move(arms), settings);
    CHECK(result.arms[0].ok());
    CHECK(result.arms[1].status == ArmStatus::failed);
    CHECK(result.arms[1].reason == "its batches could not be written: no room");
    CHECK(std::ranges::count(log, "peer prepares") == 0);
    CHECK(result.exit_code() == 1);
}

TEST_CASE("told to stop, the coordinator ends all arms and says so") {
    auto settings = quick_settings();
    Log log;
    std::vector<StartedArm> arms;
    class Stopping final : public ArmClient {
    public:
        Exchange request(const std::string&, double) override { return {Exchange::End::stopped, "", 1.0}; }
        void kill() override { ++ended; }
        int ended = 0;
    };
    ArmSpec spec;
    spec.name = "a";
    arms.push_back({spec, std::make_unique<Stopping>(), ""});
    arms.push_back(made_up_arm("b", steady(100), log));
    const auto result = run_experiment(std::move(arms), settings);
    CHECK(result.stopped);
    CHECK(result.pairs.size() <= 1);
    CHECK(log == Log{"b ends"});
    CHECK(result.exit_code() == 1);
}

TEST_CASE("an arm's counts are those of the batches that all arms share") {
    auto settings = quick_settings();
    settings.written_steps = [](const Preparation&) {
        return std::vector<StepCounts>{{4, 100},
                                       {4, 200}};  // made-up arms say 4 samples and 100 tokens a step
    };
    const auto result = compared({{"a", steady(100)}, {"b", steady(100)}}, settings);
    CHECK(result.arms[0].ok());
    CHECK(result.arms[1].ok());
    settings.written_steps = [](const Preparation&) { return std::vector<StepCounts>{{4, 100}, {5, 200}}; };
    const auto refused = compared({{"a", steady(100)}, {"b", steady(100)}}, settings);
    CHECK(refused.arms[0].status == ArmStatus::protocol_error);
    CHECK_THAT(refused.arms[0].reason, contains("; the shared batches have "));

    // A larger batch, as rungs of a ladder have, is in a file of its own, or in none.
    MadeUp larger = steady(100);
    larger.samples = 7;
    for (const std::vector<StepCounts>& own : {std::vector<StepCounts>{{4, 100}}, {{7, 100}}, {}}) {
        settings.written_steps = [&](const Preparation& what) {
            return what.arm == 0 ? std::vector<StepCounts>{{4, 100}} : own;
        };
        const auto both = compared({{"a", steady(100)}, {"b", larger}}, settings);
        CHECK(both.arms[0].ok());
        CHECK(both.arms[1].ok() == (own.empty() || own.front().samples == 7));
    }

    // The file that was found to make an arm 1.9e18 times as fast.
    CHECK(wrong_counts({{4, 100}}, 7, 5, 9223372036854775807, 100) ==
          "it reports 9223372036854775807 samples for 5 steps; the shared batches have 20");
    CHECK(wrong_counts({{4, 100}}, 7, 5, 20, 501) ==
          "it reports 501 tokens for 5 steps; the shared batches have 500, padding included");
    CHECK(wrong_counts({{4, 100}}, 7, 5, 20, 500).empty());
    CHECK(wrong_counts({{1, 1}, {2, 2}, {3, 3}}, 2, 4, 3 + 1 + 2 + 3, 9)
              .empty());  // the first comes after the last
}

TEST_CASE("passes of forwards are compared by their samples, and nothing is said of training") {
    auto settings = quick_settings();
    settings.operation = Operation::forward;
    auto slow = steady(200), fast = steady(50);
    slow.operation = fast.operation = Operation::forward;
    const auto result = compared({{"slow", slow}, {"fast", fast}}, settings);
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.operation == Operation::forward);
    CHECK(result.pairs[0].speedup.median == Approx(4.0));
    CHECK_FALSE(result.arms[0].stability.stable.has_value());
    CHECK(result.arms[0].stability.reason.empty());
}

TEST_CASE("an arm that passes over fewer samples is told, and one that would train instead") {
    auto settings = quick_settings();
    settings.operation = Operation::forward;
    auto whole = steady(100), less = steady(50), trains = steady(50);
    whole.operation = less.operation = Operation::forward;
    less.samples = 3;
    const auto result = compared({{"whole", whole}, {"less", less}, {"trains", trains}}, settings);
    CHECK(result.arms[0].ok());
    CHECK(result.arms[1].status == ArmStatus::protocol_error);
    CHECK(result.arms[1].reason == "it reports 3 samples for 1 pass; each is over 4");
    CHECK(result.arms[2].status == ArmStatus::failed);
    CHECK(result.arms[2].reason ==
          "does not do the operation forward: its answer to prepare has no \"operation\": \"forward\"");
    CHECK(result.exit_code() == 1);
}
