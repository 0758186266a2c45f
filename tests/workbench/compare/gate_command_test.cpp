// The gate, rounds, the dry run and the self-test as a user runs them, with arms that are worse by their
// making. Which exit code is for what is tested with made-up arms (gate_test.cpp): nothing here depends on
// how fast the machine is. To add a case: options, and the text.
#include <filesystem>
#include <random>

#include "compared.h"

using namespace switchyard::test;

namespace {

const Words two{"--vary", "attention.backend=naive,torch"};

std::string refused(const TinyJob& job, const Words& more) {
    const auto outcome = compared_text(job, with(two, more));
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
}

}  // namespace

TEST_CASE("a gate that holds: exit code 0, a test case each, a table") {
    const TinyJob job;
    const auto json = compared(job, with(two, {"--fail-on", "memory:900%,drift", "--junit",
                                               job.file("gate.xml"), "--markdown", job.file("gate.md")}));
    REQUIRE(json["gate"].size() == 2);
    CHECK(json["gate"][0]["rule"] == "drift");
    CHECK(json["gate"][0]["outcome"] == "fine");
    CHECK(json["gate"][1]["outcome"] == "fine");
    CHECK_THAT(bytes_of(job.file("gate.xml")), contains("tests=\"2\" failures=\"0\" errors=\"0\""));
    CHECK_THAT(bytes_of(job.file("gate.md")), contains("### switchyard compare: fine"));
}

TEST_CASE("a gate that cannot tell ends with 4, and says so on the terminal and to GitHub") {
    const TinyJob job;
    const auto json = compared(job, with(two, {"--fail-on", "slower:3%"}), 4);  // of two blocks
    CHECK(json["exit_code"] == 4);
    CHECK(json["gate"][0]["outcome"] == "CANNOT_TELL");
    const auto outcome = run(compare_words(job, short_run(with(two, {"--fail-on", "slower:3%"}))),
                             {.environment = {{"GITHUB_ACTIONS", "true"}}});
    CHECK(outcome.code == 4);
    CHECK_THAT(outcome.out, contains("\ngate\n  CANNOT TELL: attention=torch, slower:3.0%: "));
    CHECK_THAT(outcome.err, contains("::warning title=CANNOT TELL%3A attention=torch%2C slower%3A3.0%25::"));
}

TEST_CASE("a gate ends with 3 where an arm takes eleven times as long by its making") {
    const TinyJob job;
    const auto json = run_json(compare_words(job, {"--arm", "base: slowed=0", "--arm", "slow: slowed=1000",
                                                   "--blocks", "30", "--rounds", "1", "--steps-per-block",
                                                   "1", "--time", "0.5", "--fail-on", "slower:3%,drift"}),
                               3);
    CHECK(json["exit_code"] == 3);
    REQUIRE(json["gate"].size() == 2);
    CHECK(json["gate"][0]["rule"] == "drift");
    CHECK(json["gate"][0]["outcome"] == "fine");
    CHECK(json["gate"][1]["outcome"] == "REGRESSION");
    CHECK(json["pairs"][0]["verdict"] == "SLOWER");
}

TEST_CASE("a gate ends with 3 where an arm needs more memory") {
    const TinyJob job;
    const auto json =
        compared(job,
                 {"--set", "optimizer.backend=fused", "--arm", "one moment: optimizer.algorithm=lion",
                  "--arm", "two: optimizer.algorithm=adamw", "--fail-on", "memory:1%"},
                 3);
    CHECK(json["gate"][0]["rule"] == "memory:1.0%");
    CHECK(json["gate"][0]["outcome"] == "REGRESSION");
}

TEST_CASE("a gate ends with 5 where a backend computes something else, forward or backward") {
    const TinyJob job;
    const auto plugins = build_dir() / "tests/support/plugins";
    job.write("job.toml", bytes_of(job.file("job.toml")) + "\n[plugins]\npaths = [\"" +
                              (plugins / "errs").string() + "\", \"" + (plugins / "wrong").string() +
                              "\"]\n");
    const auto wrong = [&](const std::string& backend) {
        return compared(job,
                        {"--set", "model.activation=relu", "--arm", "base:", "--arm", "wrong: " + backend,
                         "--fail-on", "drift,slower:3%"},
                        5);
    };
    // It attends to what fills up short rows.
    const auto forward = wrong("attention.backend=test_errs/unmasked");
    CHECK(forward["arms"][1]["executed"]["attention"][0]["plugin"] == "test_errs");
    CHECK_THAT(forward["gate"][0]["text"].get<std::string>(), contains("outputs"));
    const auto backward = wrong("activation.backend=half_gradient");
    CHECK(backward["arms"][1]["drift"]["output"].get<double>() <
          backward["arms"][1]["drift_allowed"]["output"].get<double>());
    CHECK_THAT(backward["gate"][0]["text"].get<std::string>(), contains("gradients"));
    for (const auto& json : {forward, backward}) {
        REQUIRE(json["gate"].size() == 1);  // its speed means nothing
        CHECK(json["gate"][0]["outcome"] == "NUMERICS");
        CHECK(json["pairs"][0]["verdict"] == "WRONG");
        CHECK(json["exit_code"] == 5);
    }
}

TEST_CASE("a gate ends with 1 where an arm gives NaN, whatever the rules are") {
    const TinyJob job;
    const auto json =
        compared(job,
                 {"--arm", "good:", "--arm", "diverges: optimizer.lr=1e30 optimizer.max_grad_norm=0",
                  "--fail-on", "memory:5%"},
                 1);
    REQUIRE(json["gate"].size() == 1);
    CHECK(json["gate"][0]["rule"] == "ran");
    CHECK(json["gate"][0]["outcome"] == "FAILED");
    CHECK_THAT(json["gate"][0]["text"].get<std::string>(), contains("the loss is not finite"));
}

TEST_CASE("what is wrong with the options of a gate is told with their names") {
    const TinyJob job;
    CHECK_THAT(refused(job, {"--fail-on", "slowr:3%"}),
               contains("--fail-on: 'slowr:3%' is none of slower:SHARE"));
    CHECK_THAT(refused(job, {"--fail-on", "slower"}), contains("--fail-on: slower needs a share above 0"));
    CHECK_THAT(refused(job, {"--junit", job.file("a.xml")}),
               contains("--junit: says what --fail-on found; there is no --fail-on"));
    CHECK_THAT(refused(job, {"--operation", "forward", "--fail-on", "loss:0.02"}),
               contains("--fail-on loss trains to the end, which --operation forward does not"));
    CHECK_THAT(refused(job, {"--rounds", "3"}),
               contains("--rounds 3: a round has a block at least; --blocks is 2"));
    CHECK_THAT(refused(job, {"--baseline", job.file("none.json")}),
               contains("none.json: error: there is no such file"));
    job.write("foreign.json", "{\"rows\": []}");
    CHECK_THAT(refused(job, {"--baseline", job.file("foreign.json")}),
               contains("foreign.json: error: is not what `switchyard compare --json` writes: "));
}

TEST_CASE("in rounds every arm is started anew, with the same weights and batches") {
    const TinyJob job;
    const auto json = run_json(compare_words(job, with(two, {"--blocks", "4", "--rounds", "2",
                                                             "--steps-per-block", "1", "--time", "0.5"})),
                               0);
    const JsonSchema schema(source_dir() / "docs/schema/compare.json");
    for (const auto& fault : schema.faults(json)) FAIL_CHECK(fault);
    CHECK(json["rounds"] == 2);
    CHECK(json["blocks"] == 4);
    for (const auto& arm : json["arms"]) {
        CHECK(arm["status"] == "ok");
        CHECK(arm["blocks"].front()["round"] == 0);
        CHECK(arm["blocks"].back()["round"] == 1);
        CHECK(arm["blocks"].back()["page_faults"].get<std::int64_t>() >= 0);
    }
}

TEST_CASE("what was measured before is compared with, and marked") {
    const TinyJob job;
    job.write("before.json",
              run_json(compare_words(job, with(two, {"--blocks", "4", "--rounds", "2", "--steps-per-block",
                                                     "1", "--time", "0.5"})),
                       0)
                  .dump());
    const auto json = compared(job, {"--baseline", job.file("before.json")});
    REQUIRE(json["arms"].size() == 2);
    CHECK(json["arms"][0]["name"] == "attention=naive (measured before)");
    CHECK(json["arms"][0]["measured_before"] == job.file("before.json"));
    CHECK(json["pairs"][0]["verdict"] == "CANNOT_TELL");  // of one round now
    const auto other = compared_text(job, {"--baseline", job.file("before.json"), "--set", "model.layers=1"});
    CHECK(other.code == 2);
    CHECK_THAT(other.err, contains("before.json: is of bert, 2 layers"));
    const auto wider =
        compared_text(job, {"--baseline", job.file("before.json"), "--set", "model.intermediate_size=24"});
    for (const auto& [rule, why] : {std::pair{"loss:0.02", "no final losses"}, {"drift", "the first step"}}) {
        const auto never = compared_text(job, {"--baseline", job.file("before.json"), "--fail-on", rule});
        CHECK(never.code == 2);
        CHECK_THAT(never.err, contains("--baseline: ") && contains(why));
    }
    CHECK(wider.code == 2);
    CHECK_THAT(wider.err, contains("before.json: has model.intermediate_size: ") && contains("this has 24"));
}

TEST_CASE("a dry run shows the arms and starts nothing") {
    const TinyJob job;
    const auto outcome = compared_text(job, {"--vary", "attention.backend=naive,torch", "--vary",
                                             "optimizer.lr=1e-4,2e-4", "--one-at-a-time", "--dry-run"});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("attention=naive optimizer.lr=1e-4 (base)\n"));
    CHECK_THAT(outcome.out, contains("attention=torch optimizer.lr=1e-4\n"));
    CHECK_THAT(outcome.out, contains("attention torch/"));
    CHECK_THAT(outcome.out, contains("3 arms: warm-up"));
    CHECK_THAT(outcome.out, !contains("attention=torch optimizer.lr=2e-4"));
    const auto timed = run(compare_words(job, {"--vary", "attention.backend=naive,torch", "--dry-run"}));
    CHECK_THAT(timed.out, contains("about 60 s (--time)"));
}

TEST_CASE("more than 64 arms are asked for twice") {
    const TinyJob job;
    std::string many = "optimizer.lr=";
    for (int i = 1; i <= 65; ++i) many += (i > 1 ? "," : "") + std::to_string(i) + "e-6";
    const auto outcome = compared_text(job, {"--vary", many, "--dry-run"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err,
               contains("there are 65 arms, which share the time of --time; --yes compares them all"));
}

TEST_CASE("the self-test of the statistics, simulated and of a recording") {
    const TinyJob job;
    const auto simulated = run({"compare", "self-test", "--replays", "50"});
    CHECK(simulated.code == 0);
    CHECK_THAT(simulated.out, contains("correlated by 0.7, starts differ by 1.0 %"));
    job.write("few.json", run_json(compare_words(job, short_run(two)), 0).dump());
    const auto few = run({"compare", "self-test", job.file("few.json")});
    CHECK(few.code == 2);
    CHECK_THAT(few.err, contains("few.json: no two arms have six blocks"));
    job.write("none.json", "{}");
    CHECK(run({"compare", "self-test", job.file("none.json")}).code == 2);
    check_refused(run({"compare", "self-test", "--beside-load"}),
                  {"--beside-load: is for comparisons that are made"});
}

TEST_CASE(
    "blocks that were recorded are replayed, and the exit code says whether the machine can tell 3 percent") {
    const TinyJob job;
    auto json = run_json(compare_words(job, short_run(two)), 0);
    // Eight rounds of six blocks, whose times are made up: each scatters by the share, alike in both arms.
    const auto replayed = [&](double share) {
        std::mt19937 random(7);
        for (auto& arm : json["arms"]) {
            const auto block = arm["blocks"].front();
            arm["blocks"].clear();
            for (int i = 0; i < 48; ++i) {
                arm["blocks"].push_back(block);
                arm["blocks"].back()["round"] = i / 6;
                arm["blocks"].back()["repeated"] = false;
                arm["blocks"].back()["step_ms"] = 50.0 + share * static_cast<double>(random() % 1000) / 20.0;
            }
        }
        json["rounds"] = 8;
        json["blocks"] = 48;
        job.write("recorded.json", json.dump());
        return run({"compare", "self-test", job.file("recorded.json"), "--replays", "200"});
    };
    const auto quiet = replayed(0.02);
    INFO(quiet.out << quiet.err);
    CHECK(quiet.code == 0);
    CHECK_THAT(quiet.out, contains("recorded.json replayed 200 times, on ") && contains("\n  recorded "));
    CHECK_THAT(quiet.out, contains("100.0 %") && !contains("FEWER than"));
    const auto noisy = replayed(0.9);
    INFO(noisy.out << noisy.err);
    CHECK(noisy.code == 1);
    CHECK_THAT(noisy.out, contains("FEWER than 95 % found") && !contains("MORE than"));
}

TEST_CASE("a live self-test compares a configuration with itself, and with itself slowed") {
    const TinyJob job;
    const auto words = [&](const std::string& config) {
        return Words{"compare", "self-test", "--live", config, "--comparisons", "1", "--time", "0.1"};
    };
    const auto outcome = run(words(job.file("job.toml")));
    INFO(outcome.err);
    CHECK((outcome.code == 0 || outcome.code == 1));  // of one comparison nothing is promised
    CHECK_THAT(outcome.out, contains("compared once for 0.100 s on "));
    CHECK_THAT(outcome.out, contains("made on this machine"));
    CHECK_THAT(outcome.out, contains("against itself, slowed by 3.0 %"));
    const auto loaded = run(with(words(job.file("job.toml")), {"--beside-load"}));
    CHECK((loaded.code == 0 || loaded.code == 1));
    CHECK_THAT(loaded.out, contains(", beside a busy loop for half of the time\n"));
    const auto missing = run(words(job.file("none.toml")));
    CHECK(missing.code == 1);
    CHECK_THAT(missing.err, contains("none.toml"));
    CHECK_THAT(missing.err, contains("comparison 1 ended with exit code 2"));
}

TEST_CASE("an arm that is slowed computes the same") {
    const TinyJob job;
    const auto json = compared(job, {"--arm", "base: slowed=0", "--arm", "slow: slowed=1000"});
    CHECK(json.at("arms").at(0).at("losses") == json.at("arms").at(1).at("losses"));
}
