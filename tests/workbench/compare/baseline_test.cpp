// An arm that was measured before as the base. To add a case: make a recording up and what is measured now.
#include <cmath>

#include "core/workbench/bench/measure/simulated_blocks.h"
#include "core/workbench/compare/experiment/baseline.h"
#include "core/workbench/compare/experiment/comparison_report.h"

#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

// One arm in so many rounds of four blocks; each start of it differs by 1 %.
Comparison one_arm(const std::string& name, double ms, int rounds, std::uint64_t seed) {
    PhiloxStream random(seed, 31);
    const auto blocks = simulate_blocks({0.005, 0.0, 0.01}, {rounds, 4, ms / 100.0}, random);
    Comparison comparison;
    comparison.rounds = rounds;
    comparison.blocks = 4 * rounds;
    auto& arm = comparison.arms.emplace_back();
    arm.spec.name = name;
    for (std::size_t block = 0; block < blocks.arm_ms.size(); ++block) {
        ArmBlock made;
        made.sample.ms = blocks.arm_ms[block];
        made.steps = made.samples = 1;
        made.round = blocks.round_of[block];
        arm.blocks.emplace_back(made);
    }
    return comparison;
}

RecordedComparison before(const Comparison& comparison) {
    return {comparison, "bert", "here, a processor", {{"model.heads", "4"}, {"model.vocab_size", "100"}}};
}

}  // namespace

TEST_CASE("what was measured before is the base, marked, and compared by its rounds") {
    auto now = one_arm("as configured", 120.0, 8, 1);
    add_baseline(now, before(one_arm("main", 100.0, 8, 2)), "main.json", 0.02);
    REQUIRE(now.pairs.size() == 1);
    CHECK(now.arms[0].spec.name == "main (measured before)");
    CHECK(now.pairs[0].verdict == SpeedVerdict::slower);
    CHECK(now.pairs[0].speedup.median == Approx(1.0 / 1.2).epsilon(0.02));
    CHECK(now.pairs[0].total_speedup == Approx(1.0 / 1.2).epsilon(0.02));
    CHECK(now.arms[0].samples_per_second == Approx(10.0).epsilon(0.03));
    CHECK_THAT(to_text(now), contains("NOT INTERLEAVED: measured before, read from main.json"));
    CHECK(to_json(now)["arms"][0]["measured_before"] == "main.json");
    CHECK(to_json(now)["arms"][1]["measured_before"].is_null());
}

TEST_CASE("the first step of an arm is not held against a base that was measured before") {
    auto now = one_arm("one", 100.0, 8, 1);
    now.arms.push_back(one_arm("two", 100.0, 8, 4).arms[0]);
    now.arms[1].drift.output = 1e-2;  // from the first
    now.arms[1].allowed.output = 1e-6;
    add_baseline(now, before(one_arm("main", 100.0, 8, 2)), "main.json", 0.02);
    REQUIRE(now.pairs.size() == 2);
    for (const auto& pair : now.pairs) CHECK(pair.verdict != SpeedVerdict::wrong);
    CHECK(std::isnan(now.arms[2].drift.output));
}

TEST_CASE("a baseline that is read again has the steps of its own blocks") {
    auto now = one_arm("now", 100.0, 8, 1);
    now.steps_per_block = 20;
    for (auto& block : now.arms[0].blocks) block->steps = block->samples = 20;
    add_baseline(now, before(one_arm("main", 100.0, 8, 2)), "main.json", 0.02);
    auto json = to_json(now);
    json["title"] = "bert";
    json["host"] = {{"name", "here"}, {"cpu_model", "a processor"}};
    const auto read = comparison_of(json.dump(), "b.json");
    REQUIRE(read.comparison.arms.size() == 2);
    for (std::size_t arm = 0; arm < 2; ++arm)
        CHECK(read.comparison.arms[arm].blocks[0]->sample_ms() ==
              Approx(now.arms[arm].blocks[0]->sample_ms()));
    auto third = one_arm("third", 100.0, 8, 3);
    add_baseline(third, read, "b.json", 0.02);
    CHECK(third.arms[0].spec.name == "main (measured before)");

    for (auto& block : json["arms"][0]["blocks"]) block.erase("steps");
    CHECK_THROWS_WITH(comparison_of(json.dump(), "b.json"), contains("make the recording anew"));
}

TEST_CASE("starts that differ are not found to be a change since then") {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto now = one_arm("arm", 100.0, 5, 1000 + seed);
        add_baseline(now, before(one_arm("main", 100.0, 5, 5000 + seed)), "main.json", 0.02);
        found += now.pairs[0].verdict == SpeedVerdict::slower || now.pairs[0].verdict == SpeedVerdict::faster;
    }
    CHECK(found <= 20);  // 5 % of 200 and three standard errors
}

TEST_CASE("one round then or now cannot tell") {
    auto now = one_arm("arm", 100.0, 1, 1);
    for (int i = 0; i < 4; ++i) now.arms[0].blocks.push_back(now.arms[0].blocks.front());
    add_baseline(now, before(one_arm("main", 200.0, 8, 2)), "main.json", 0.02);
    CHECK(now.pairs[0].verdict == SpeedVerdict::cannot_tell);
    CHECK(now.pairs[0].reason == "what was not timed in turns needs two rounds each, then and now");
}

TEST_CASE("a recording of something else is refused") {
    const auto recorded = before(one_arm("main", 100.0, 5, 1));
    const std::map<std::string, std::string> standard{{"task.kind", "classification"}};
    auto now = recorded;
    CHECK(unlike_baseline(recorded, now, standard).empty());
    now.comparison.operation = Operation::forward;
    CHECK(unlike_baseline(recorded, now, standard) == "is of the operation step, this is forward");
    now = recorded;
    now.title = "gpt";
    CHECK(unlike_baseline(recorded, now, standard) == "is of bert; this is gpt");
    now = recorded;
    now.host = "there, another";
    CHECK(unlike_baseline(recorded, now, standard) ==
          "was measured on here, a processor; this is there, another");
    now = recorded;
    now.shared_values["model.vocab_size"] = "20000";
    CHECK(unlike_baseline(recorded, now, standard) == "has model.vocab_size: 100; this has 20000");
    now = recorded;
    now.shared_values["task.kind"] = "classification";  // newer than the recording
    CHECK(unlike_baseline(recorded, now, standard).empty());
    now.shared_values["task.kind"] = "regression";
    CHECK(unlike_baseline(recorded, now, standard) == "has task.kind: classification; this has regression");
    auto old = recorded;
    old.shared_values.clear();
    CHECK(unlike_baseline(old, recorded, standard) ==
          "does not say of what model and data it is: measure it again with this version");
    auto failed = recorded;
    failed.comparison.arms[0].status = ArmStatus::crashed;
    CHECK(unlike_baseline(failed, recorded, standard) == "holds no arm that ran to its end");
}
