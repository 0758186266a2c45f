// Rounds, blocks that are repeated, the end of the warm-up and what is said of a pair, with made-up arms. To
// add a case: say what each start of an arm does, run it, look at the comparison and at the log.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/workbench/bench/measure/simulated_blocks.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/experiment_plan.h"
#include "core/workbench/compare/experiment/start_up.h"

#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

// What an arm does in each start of it, from 0.
using Starts = std::function<MadeUp(int start)>;

struct Started {
    std::string name;
    Starts starts;
};

Comparison compared(const std::vector<Started>& arms, ExperimentSettings settings, Log& log) {
    std::vector<StartedArm> started;
    std::vector<int> count(arms.size(), 1);
    for (const auto& [name, starts] : arms) started.push_back(made_up_arm(name, starts(0), log));
    settings.start = [&](std::size_t at, std::string&) {
        log.push_back(arms[at].name + " starts");
        return made_up_client(arms[at].name, arms[at].starts(count[at]++), log);
    };
    return run_experiment(std::move(started), settings);
}

Comparison compared(const std::vector<Started>& arms, const ExperimentSettings& settings = quick_settings()) {
    Log log;
    return compared(arms, settings, log);
}

Starts always(const MadeUp& arm) {
    return [arm](int) { return arm; };
}

// Each start has a level of its own.
Starts moody(double ms, double starts, double spread, std::uint64_t seed) {
    auto random = std::make_shared<PhiloxStream>(seed, 5);
    return [=](int start) {
        return scattered(ms * std::exp(starts * standard_normal(*random)), spread,
                         1000 * seed + static_cast<std::uint64_t>(start));
    };
}

std::size_t count_of(const Log& log, const std::string& line) {
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), line));
}

}  // namespace

TEST_CASE("arms are started anew for each round, and each has its share of the blocks") {
    auto settings = quick_settings();
    settings.blocks = 21;
    settings.rounds = 5;
    Log log;
    const auto result = compared({{"a", always(steady(300))}, {"b", always(steady(200))}}, settings, log);
    CHECK(result.rounds == 5);
    CHECK(result.blocks == 21);
    CHECK(count_of(log, "a starts") == 4);
    CHECK(count_of(log, "b prepares") == 5);
    CHECK(count_of(log, "a ends") == 5);  // the last time with the comparison
    std::vector<int> count(5, 0);
    for (const auto& block : result.arms[0].blocks) ++count.at(static_cast<std::size_t>(block->round));
    CHECK(std::count(count.begin(), count.end(), 4) == 4);
    CHECK(std::count(count.begin(), count.end(), 5) == 1);
    // Losses are of the first start: later ones train from the beginning again.
    CHECK(static_cast<std::int64_t>(result.arms[0].losses.size()) ==
          result.warm_up_steps + count[0] * (result.steps_per_block + result.lead_in));
    CHECK_THAT(to_text(result), contains("21 blocks of 1 step in 5 rounds, each of new processes"));
}

TEST_CASE(
    "arms that can observe a step are asked once, after the blocks of the first round, and nothing else") {
    auto settings = quick_settings();
    settings.blocks = 12;
    settings.rounds = 3;
    settings.seeds = 2;
    settings.loss_steps = 5;
    auto telling = steady(300);
    telling.observed = step_of(1000);
    Log log, asked;
    const auto without = compared({{"a", always(telling)}, {"b", always(steady(200))}}, settings, log);
    CHECK(count_of(log, "a observes") == 0);
    settings.observes = true;
    const auto result = compared({{"a", always(telling)}, {"b", always(steady(200))}}, settings, asked);
    CHECK(count_of(asked, "a observes") == 1);
    CHECK(count_of(asked, "b observes") == 0);
    const auto told = std::find(asked.begin(), asked.end(), "a observes");
    CHECK(std::find(asked.begin(), told, "a starts") == told);
    // The next that it does is to end.
    CHECK(*std::find_if(told + 1, asked.end(), [](const auto& line) { return line.starts_with("a "); }) ==
          "a ends");
    REQUIRE(result.arms[0].observed);
    CHECK(result.arms[0].observed->memory.peak.total() == 5000);
    CHECK_FALSE(result.arms[1].observed);
    // Nothing of it is timed, and no loss of it counts.
    for (std::size_t arm = 0; arm < 2; ++arm) {
        CHECK(result.arms[arm].losses == without.arms[arm].losses);
        CHECK(result.arms[arm].seed_losses == without.arms[arm].seed_losses);
        CHECK(result.arms[arm].step_ms.median == without.arms[arm].step_ms.median);
    }
    CHECK(result.blocks == without.blocks);
    CHECK_THAT(to_text(result),
               contains("memory of a step at its peak\n  a: optimizer state 2.00 kB, activations "
                        "2.00 kB, parameters 1.00 kB\n"));
}

TEST_CASE("as many rounds as the time has room for, and none where starting takes too long") {
    ExperimentSettings settings;
    settings.time_ms = 60'000;
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 3000}).rounds == 7);
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 100}).rounds == 10);
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 6000}).rounds == 5);
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 20'000}).rounds == 1);
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 0}).rounds == 1);
    settings.rounds = 3;
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 20'000}).rounds == 3);
    settings.blocks = 2;
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 20'000}).rounds == 2);
    settings.rounds = 0;
    settings.blocks = 18;
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 10}).rounds == 6);
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 10}).blocks == 18);
}

TEST_CASE(
    "the time that is allowed is used: by more blocks, and by longer ones where there would be too many") {
    ExperimentSettings settings;
    settings.time_ms = 60'000;
    auto plan = plan_experiment(settings, {{100, 100}, 4000, 0});
    CHECK(plan.steps_per_block == 1);
    CHECK(plan.blocks == 280);
    CHECK(plan.blocks * plan.block_ms == Approx(56'000));
    settings.time_ms = 600'000;
    plan = plan_experiment(settings, {{100, 100}, 4000, 20'000});
    CHECK(plan.steps_per_block == 4);
    CHECK(plan.blocks == settings.max_blocks);
    CHECK(plan.blocks * plan.block_ms == Approx(600'000 - 4000 - 9 * 20'000).epsilon(0.05));
    settings.blocks = 18;
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 20'000}).steps_per_block == 1);
    settings.blocks = 0;
    settings.steps_per_block = 1;
    CHECK(plan_experiment(settings, {{100, 100}, 4000, 20'000}).steps_per_block == 1);
}

TEST_CASE("there are more rounds where the second start takes less than the first") {
    ExperimentSettings settings;
    settings.time_ms = 90'000;
    ExperimentPlan plan{.steps_per_block = 1, .rounds = 5, .blocks = 55, .block_ms = 750};
    const auto with = [&](double used_ms, double restart_ms) {
        auto more = plan;
        add_rounds(more, settings, used_ms, restart_ms);
        return std::pair(more.rounds, more.blocks);
    };
    // Rounds of 8.25 s, after starts of 2.5 s: 69.25 s hold one that is started and five more.
    CHECK(with(20'750, 2500) == std::pair(7, 77));
    CHECK(with(20'750, 10'000) == std::pair(5, 55));  // as planned, though they take longer
    CHECK(with(1000, 0) == std::pair(11, 121));
    settings.time_ms = 1e9;
    CHECK(with(1000, 0) == std::pair(20, 220));
    settings.max_blocks = 100;
    CHECK(with(1000, 0) == std::pair(9, 99));
    settings.rounds = 5;
    CHECK(with(1000, 0) == std::pair(5, 55));
    settings.rounds = 0;
    settings.blocks = 55;
    CHECK(with(1000, 0) == std::pair(5, 55));

    // Of one that is run, all of the time is used.
    const auto slow_at_first = [](int start) {
        auto arm = steady(300);
        arm.prepare_ms = start == 0 ? 2000 : 500;
        return arm;
    };
    const auto result = compared({{"a", slow_at_first}, {"b", slow_at_first}});
    CHECK(result.rounds > 5);
    CHECK(result.blocks % result.rounds == 0);
    for (const auto& arm : result.arms) {
        CHECK(arm.blocks.size() == static_cast<std::size_t>(result.blocks));
        CHECK(arm.blocks.back()->round == result.rounds - 1);
    }
    CHECK(result.elapsed_ms > 4000 + 0.9 * 60'000);  // the time is for what comes after both have started
    CHECK(result.elapsed_ms < 4000 + 1.02 * 60'000);
}

TEST_CASE("restarts come out of the time that is allowed") {
    const auto result = compared({{"a", always(steady(300))}, {"b", always(steady(200))}});
    CHECK(result.rounds == 10);
    CHECK(result.blocks % 10 == 0);
    CHECK(result.elapsed_ms < 1.15 * 60'000);
    CHECK(result.elapsed_ms > 0.8 * 60'000);
}

TEST_CASE("a machine that becomes slower takes no round that was asked for, and starts none for nothing") {
    const Starts slower = [](int start) { return steady(start == 0 ? 100 : 2500); };
    for (const int rounds : {8, 0}) {
        INFO(rounds);
        auto settings = quick_settings();
        settings.rounds = rounds;
        Log log;
        const auto result = compared({{"a", slower}, {"b", slower}}, settings, log);
        CHECK(result.elapsed_ms > settings.time_ms);
        CHECK(result.rounds == (rounds == 0 ? least_rounds : rounds));
        CHECK(count_of(log, "a starts") == static_cast<std::size_t>(result.rounds - 1));
        std::set<int> held;
        for (const auto& block : result.arms[0].blocks) held.insert(block->round);
        CHECK(static_cast<int>(held.size()) == result.rounds);
    }
}

TEST_CASE("what differs between starts of an arm is not found to be a difference of arms") {
    int found = 0;
    constexpr int experiments = 200;
    auto settings = quick_settings();
    settings.blocks = 20;
    settings.rounds = 5;
    for (std::uint64_t seed = 0; seed < experiments; ++seed) {
        const auto verdict =
            compared({{"a", moody(300, 0.02, 0.01, 2 * seed)}, {"b", moody(300, 0.02, 0.01, 2 * seed + 1)}},
                     settings)
                .pairs[0]
                .verdict;
        found += verdict == SpeedVerdict::faster || verdict == SpeedVerdict::slower ? 1 : 0;
    }
    CHECK(found <= 20);  // 5 % of 200 and three standard errors
}

TEST_CASE("a slow-down of 5 percent is found through starts that differ by 1") {
    auto settings = quick_settings();
    settings.blocks = 50;
    settings.rounds = 10;
    int found = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto result = compared(
            {{"a", moody(300, 0.01, 0.01, 2 * seed)}, {"b", moody(315, 0.01, 0.01, 2 * seed + 1)}}, settings);
        found += result.pairs[0].verdict == SpeedVerdict::slower ? 1 : 0;
    }
    CHECK(found >= 18);
}

TEST_CASE("a block in which others had the processor is repeated, whatever the arm's time was") {
    auto settings = quick_settings();
    settings.blocks = 12;
    MadeUp disturbed = steady(300);
    disturbed.others_share = [](int turn) { return turn == 7 || turn == 9 ? 0.4 : 0.02; };
    const auto result = compared({{"a", always(steady(300))}, {"b", always(disturbed)}}, settings);
    CHECK(result.blocks == 12);
    CHECK(result.repeated_blocks == 2);
    for (const auto& arm : result.arms) {
        CHECK(arm.blocks.size() == 14);
        CHECK(std::count_if(arm.blocks.begin(), arm.blocks.end(),
                            [](const auto& block) { return block->repeated; }) == 2);
        CHECK(arm.losses.size() == result.arms[0].losses.size());
    }
    CHECK_THAT(to_text(result), contains("2 blocks repeated, for others had the processor"));

    // An arm that is slow for itself is no disturbance.
    MadeUp slow_at_times;
    slow_at_times.step_ms = [](std::int64_t step) { return step % 6 == 2 ? 480.0 : 300.0; };
    slow_at_times.others_share = [](int) { return 0.02; };
    CHECK(compared({{"a", always(steady(300))}, {"b", always(slow_at_times)}}, settings).repeated_blocks ==
          0);
}

TEST_CASE("on a machine that is always shared blocks are not repeated for ever, and that is told") {
    auto settings = quick_settings();
    settings.blocks = 12;
    MadeUp disturbed = steady(300);
    disturbed.others_share = [](int) { return 0.4; };
    const auto result = compared({{"a", always(steady(300))}, {"b", always(disturbed)}}, settings);
    CHECK(result.blocks == 12);
    CHECK(result.repeated_blocks == 3);
    CHECK_THAT(to_text(result), contains("others took up to 40 % of the processors in blocks that count"));
}

TEST_CASE("an arm that is 60 percent slower in every sixth block is not the same") {
    auto settings = quick_settings();
    settings.blocks = 18;
    settings.rounds = 1;
    int same = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        auto random = std::make_shared<PhiloxStream>(seed, 6);
        MadeUp seldom;
        seldom.step_ms = [random](std::int64_t step) {
            return (step % 6 == 5 ? 480.0 : 300.0) * std::exp(0.005 * standard_normal(*random));
        };
        const auto result =
            compared({{"a", always(scattered(300, 0.005, seed))}, {"b", always(seldom)}}, settings);
        same += result.pairs[0].verdict == SpeedVerdict::same ? 1 : 0;
        CHECK(result.pairs[0].speedup.median == Approx(1.0).epsilon(0.02));
        CHECK(result.pairs[0].total_speedup == Approx(1.0 / 1.1).epsilon(0.03));
        CHECK_THAT(result.pairs[0].reason + result.pairs[0].note,
                   contains("all blocks together, the seldom slow ones too, are 0.9"));
    }
    CHECK(same == 0);
}

TEST_CASE("an arm that is much faster but seldom slow is faster, and the total is told") {
    auto settings = quick_settings();
    settings.blocks = 18;
    settings.rounds = 1;
    MadeUp seldom;
    seldom.step_ms = [](std::int64_t step) { return step % 6 == 5 ? 300.0 : 150.0; };
    const auto result = compared({{"a", always(scattered(300, 0.01, 3))}, {"b", always(seldom)}}, settings);
    CHECK(result.pairs[0].verdict == SpeedVerdict::faster);
    CHECK_THAT(result.pairs[0].note, contains("all blocks together, the seldom slow ones too, are 1.7"));
}

TEST_CASE("with several pairs both p are told, and the corrected one decides") {
    auto settings = quick_settings();
    settings.blocks = 20;
    int alone = 0, corrected = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::vector<Started> arms;
        for (std::uint64_t arm = 0; arm < 4; ++arm)
            arms.push_back(
                {std::string(1, static_cast<char>('a' + arm)), always(scattered(300, 0.1, 4 * seed + arm))});
        const auto result = compared(arms, settings);
        bool any_alone = false, any = false;
        for (const auto& pair : result.pairs) {
            const bool different =
                pair.verdict == SpeedVerdict::faster || pair.verdict == SpeedVerdict::slower;
            any_alone = any_alone || pair.p < 0.05;
            any = any || different;
            CHECK((!different || pair.p_corrected < 0.05));
            CHECK(pair.p_corrected >= pair.p);
            if (!different && pair.p < 0.05 && pair.verdict == SpeedVerdict::cannot_tell)
                CHECK_THAT(pair.reason, contains("is found by chance too often among 3 comparisons: p 0.0"));
        }
        alone += any_alone ? 1 : 0;
        corrected += any ? 1 : 0;
    }
    CHECK(corrected <= 20);  // 5 % of 200 and three standard errors
    CHECK(alone >= corrected);
}

TEST_CASE("warming up goes on until times are steady, and the result says from where") {
    MadeUp slow_first;
    slow_first.step_ms = [](std::int64_t step) { return step < 32 ? 45.0 : 30.0; };
    auto settings = quick_settings();
    settings.blocks = 9;
    // A second would have been over after 41 steps: too soon after the last change.
    const auto result = compared({{"a", always(steady(30))}, {"b", always(slow_first)}}, settings);
    CHECK(result.arms[1].steady_from == 32);
    CHECK(result.arms[0].steady_from == 0);
    CHECK(result.warm_up_steps > 43);
    // Preparing takes each made-up arm half a second.
    CHECK(result.arms[0].start_up_ms == Approx(500.0 + 30.0));
    CHECK(result.arms[1].start_up_ms == Approx(500.0 + 32 * 45.0 + 30.0));
    CHECK_THAT(to_text(result), contains("to warm up (steady from 32)"));
}

TEST_CASE("a start-up ends with a step: what a turn takes beyond its steps is before them") {
    StartUp start_up;
    start_up.prepared(500.0);
    start_up.took(100.0, {20.0, 30.0});
    start_up.took(40.0, {40.0});
    CHECK(start_up.until(0) == Approx(570.0));
    CHECK(start_up.until(1) == Approx(600.0));
    CHECK(start_up.until(2) == Approx(640.0));
    CHECK(std::isnan(start_up.until(3)));
}

TEST_CASE("an arm whose times change to the end of the warm-up has no start-up that is known") {
    MadeUp ever_slower;
    ever_slower.step_ms = [](std::int64_t step) { return 30.0 * std::pow(1.05, static_cast<double>(step)); };
    auto settings = quick_settings();
    settings.blocks = 9;
    const auto result = compared({{"a", always(steady(30))}, {"b", always(ever_slower)}}, settings);
    CHECK(std::isfinite(result.arms[0].start_up_ms));
    CHECK(std::isnan(result.arms[1].start_up_ms) == (result.arms[1].steady_from == result.warm_up_steps));
    CHECK(to_json(result)["arms"][1]["start_up_ms"].is_null() == std::isnan(result.arms[1].start_up_ms));
}

TEST_CASE("an arm that cannot be started again is a row with its reason, and the others go on") {
    auto settings = quick_settings();
    settings.blocks = 20;
    settings.rounds = 5;
    Log log;
    std::vector<StartedArm> started;
    started.push_back(made_up_arm("a", steady(300), log));
    started.push_back(made_up_arm("b", steady(100), log));
    started.push_back(made_up_arm("c", steady(200), log));
    settings.start = [&](std::size_t at, std::string& error) -> std::unique_ptr<ArmClient> {
        if (at != 1) return made_up_client("again", steady(at == 0 ? 300 : 200), log);
        error = "cannot start a process: Resource temporarily unavailable";
        return nullptr;
    };
    const auto result = run_experiment(std::move(started), settings);
    CHECK(result.arms[1].status == ArmStatus::failed);
    CHECK(result.arms[1].reason == "cannot start a process: Resource temporarily unavailable");
    CHECK(result.blocks == 20);
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.pairs[0].verdict == SpeedVerdict::faster);
    CHECK(result.exit_code() == 1);
}

TEST_CASE("a clock that changed is told, and is in the record of each block") {
    auto settings = quick_settings();
    settings.blocks = 6;
    int turn = 0;
    settings.clock = [&turn] { return switchyard::bench::MachineClock{turn++ == 5 ? 2100.0 : 3400.0, 81.0}; };
    const auto result = compared({{"a", always(steady(300))}, {"b", always(steady(300))}}, settings);
    auto text = to_text(result);
    for (auto at = text.find("\n      "); at != std::string::npos; at = text.find("\n      "))
        text.replace(at, 7, " ");
    CHECK_THAT(text, contains("the processors' clock ran at 2.1 to 3.4 GHz at up to 81 degrees Celsius"));
    CHECK(to_json(result)["arms"][0]["blocks"][0]["mhz"] == 3400.0);
    CHECK(to_json(result)["arms"][0]["blocks"][0]["celsius"] == 81.0);

    settings.clock = [] { return switchyard::bench::MachineClock{}; };
    const auto untold = compared({{"a", always(steady(300))}, {"b", always(steady(300))}}, settings);
    CHECK(to_text(untold).find("clock") == std::string::npos);
    CHECK(to_json(untold)["arms"][0]["blocks"][0]["mhz"].is_null());
}
