// The self-test of the statistics: that it finds statistics that hold, and blocks that hold nothing. And the
// file that it reads. To add a case: make a comparison up, write it as JSON, read it again.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/kernel/base/input_error.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/read_comparison.h"
#include "core/workbench/compare/experiment/self_test.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

// As it would have been measured.
Comparison recorded(const Noise& noise, const SimulatedRun& run, std::uint64_t seed) {
    PhiloxStream random(seed, 11);
    const auto blocks = simulate_blocks(noise, run, random);
    Comparison comparison;
    comparison.rounds = run.rounds;
    comparison.steps_per_block = 2;
    comparison.arms.resize(2);
    for (std::size_t at = 0; at < 2; ++at) {
        auto& arm = comparison.arms[at];
        arm.spec.name = at == 0 ? "base" : "arm";
        arm.spec.overrides = {"attention.backend=torch"};
        arm.peak_memory_bytes = 1000;
        const auto& times = at == 0 ? blocks.base_ms : blocks.arm_ms;
        for (std::size_t block = 0; block < times.size(); ++block) {
            ArmBlock made;
            made.sample.ms = times[block];
            made.steps = 2;
            made.samples = 8;
            made.tokens = 100;
            made.round = blocks.round_of[block];
            arm.blocks.emplace_back(made);
        }
    }
    return comparison;
}

std::string json_of(const Comparison& comparison) {
    auto json = to_json(comparison);
    json["title"] = "bert, 6 layers";
    json["host"] = {{"name", "here"}, {"cpu_model", "a processor"}};
    return json.dump();
}

std::string error_of(const std::string& text) {
    try {
        (void)comparison_of(text, "r.json");
    } catch (const switchyard::base::InputError& error) {
        return error.what();
    }
    return "";
}

double wrong(const SelfTestRow& row) { return row.against_itself.faster + row.against_itself.slower; }

}  // namespace

TEST_CASE("simulated comparisons of every promised noise: at most 5 percent differ from themselves") {
    SelfTestSettings settings;
    settings.replays = 400;
    const auto rows = test_on_simulated(settings);
    CHECK(rows.size() == 12);
    for (const auto& row : rows) {
        CAPTURE(row.name);
        CHECK(wrong(row) <= allowed_share(settings.replays));
        const auto& all = row.against_itself;
        CHECK(all.faster + all.slower + all.same + all.cannot_tell == Approx(1.0));
        CHECK(row.slowed.faster == 0.0);
        CHECK(row.missed <= allowed_share(settings.replays) + 0.01);
        CHECK(holds(row, settings.replays));
    }
    CHECK(std::ranges::count_if(rows, [](const SelfTestRow& row) { return row.must_find; }) == 6);
    CHECK(rows.front().slowed.slower > 0.99);
    CHECK(rows.front().half_width < 0.01);
    CHECK_THAT(to_text(rows, settings), contains("correlated by 0.7, starts differ by 1.0 %"));
    CHECK_THAT(to_text(rows, settings), !contains("MORE than 5 %"));
}

TEST_CASE("recorded blocks are replayed, whatever their arms differed by") {
    SelfTestSettings settings;
    settings.replays = 400;
    const auto row = test_on_recorded(recorded({0.01, 0.4, 0.003}, {8, 6, 1.4}, 1), settings);
    REQUIRE(row);
    CHECK(wrong(*row) <= allowed_share(settings.replays));
    CHECK(row->slowed.slower > 0.9);
    CHECK(holds(*row, settings.replays));
    const auto one_round = test_on_recorded(recorded({0.01, 0.5, 0.0}, {1, 40, 1.0}, 2), settings);
    REQUIRE(one_round);
    CHECK(wrong(*one_round) <= allowed_share(settings.replays));
    CHECK_FALSE(test_on_recorded(recorded({}, {1, 5, 1.0}, 3), settings));
}

TEST_CASE("a table says where more than 5 percent are wrong") {
    SelfTestSettings settings;
    const SelfTestRow bad{"starts that differ", {0.1, 0.1, 0.5, 0.3}, {0.0, 1.0, 0.0, 0.0}, 0.2, 0.01};
    CHECK_THAT(to_text({bad}, settings), contains("MORE than 5 % FASTER and SLOWER"));
    CHECK_FALSE(holds(bad, settings.replays));
}

TEST_CASE("a table says where a slow-down is found too seldom, where it is to be found") {
    SelfTestSettings settings;  // of 1,000 replays: 95 % and three standard errors fewer are 92.9 %
    SelfTestRow row{"recorded", {0.0, 0.0, 0.9, 0.1}, {0.0, 0.93, 0.0, 0.07}, 0.05, 0.01};
    CHECK(holds(row, settings.replays));
    row.slowed = {0.0, 0.92, 0.0, 0.08};
    CHECK_FALSE(holds(row, settings.replays));
    CHECK_THAT(to_text({row}, settings), contains("FEWER than 95 % found") && !contains("MORE than"));
    CHECK(holds(row, 100));  // which say less
    row.must_find = false;
    CHECK(holds(row, settings.replays));
    CHECK_THAT(to_text({row}, settings), !contains("FEWER than"));
}

TEST_CASE("blocks that are too noisy for a slow-down to be found are told so") {
    SelfTestSettings settings;
    settings.replays = 200;
    const auto row = test_on_recorded(recorded({0.2, 0.0, 0.0}, {8, 6, 1.0}, 6), settings);
    REQUIRE(row);
    CHECK(wrong(*row) <= allowed_share(settings.replays));
    CHECK(row->slowed.slower < 0.5);
    CHECK_FALSE(holds(*row, settings.replays));
}

TEST_CASE("what a comparison wrote is read again, block by block") {
    auto made = recorded({}, {3, 4, 1.1}, 4);
    made.arms[1].blocks[5]->sample.outlier = true;
    made.arms[1].blocks[6]->repeated = true;
    made.arms[0].blocks[7].reset();
    const auto read = comparison_of(json_of(made), "r.json");
    CHECK(read.title == "bert, 6 layers");
    CHECK(read.host == "here, a processor");
    REQUIRE(read.comparison.arms.size() == 2);
    CHECK(read.comparison.rounds == 3);
    CHECK(read.comparison.arms[1].spec.overrides == made.arms[1].spec.overrides);
    CHECK_FALSE(read.comparison.arms[0].blocks[7]);
    for (std::size_t block = 0; block < 12; ++block) {
        const auto &was = *made.arms[1].blocks[block], &is = *read.comparison.arms[1].blocks[block];
        CHECK(is.sample.ms == was.sample.ms);
        CHECK(is.round == was.round);
        CHECK(is.steps == 2);
        CHECK(is.samples == 8);
        CHECK(is.repeated == was.repeated);
        CHECK(is.sample.outlier == was.sample.outlier);
    }
}

TEST_CASE("what is no comparison is told with its file") {
    CHECK(error_of("{") != "");
    CHECK_THAT(error_of("{\"rows\": []}"),
               contains("r.json: error: is not what `switchyard compare --json` writes: "));
    auto json = to_json(recorded({}, {1, 6, 1.0}, 5));
    for (const char* key : {"steps", "samples", "tokens"}) {
        for (const std::int64_t bad : {std::int64_t{-1}, switchyard::base::limits::arm_count + 1}) {
            auto changed = json;
            changed["arms"][0]["blocks"][0][key] = bad;
            INFO(key << " " << bad);
            CHECK_THAT(error_of(changed.dump()), contains("has one with a value that none can have"));
        }
    }
    auto no_steps = json;
    no_steps["arms"][0]["blocks"][0]["steps"] = 0;
    CHECK_THAT(error_of(no_steps.dump()), contains("has one with a value that none can have"));
    for (const char* key : {"step_ms", "turn_ms", "prefill_ms"}) {
        for (const double bad : {-1.0, 1e300}) {
            auto changed = json;
            changed["arms"][0]["blocks"][0][key] = bad;
            INFO(key << " " << bad);
            CHECK_THAT(error_of(changed.dump()), contains("has one with a value that none can have"));
        }
    }
    json["arms"][0]["blocks"][0]["step_ms"] = 1e-300;
    CHECK_THAT(error_of(json.dump()), contains("has one with a value that none can have"));
    json["arms"][0]["blocks"][0]["step_ms"] = "fast";
    CHECK_THAT(error_of(json.dump()), contains("\"step_ms\" is a text"));
    CHECK_THROWS_AS(read_comparison("/nowhere/r.json"), switchyard::base::InputError);
}
