// A comparison as text and as JSON. To add a case: a comparison of made-up arms, and what must stand there.
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/kernel/base/executed_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"

#include "json_schema.h"
#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

Comparison with_everything() {
    auto settings = quick_settings();
    settings.seeds = 5;
    settings.loss_steps = 40;
    settings.loss_margin = LossMargin{0.02, false};
    MadeUp broken = steady(150), other = steady(100);
    broken.loss = [](std::int64_t step) { return step == 4 ? std::nan("") : 1.0; };
    other.dtype = "bfloat16";
    other.seed_shift = [](int seed) { return 0.001 * seed; };
    Log log;
    std::vector<StartedArm> arms;
    arms.push_back(made_up_arm("attention=naive", steady(300), log));
    arms.push_back(made_up_arm("attention=torch precision=torch/bf16", other, log));
    arms.push_back(made_up_arm("diverges", broken, log));
    arms.push_back(made_up_arm("again", steady(300), log));
    return run_experiment(std::move(arms), settings);
}

}  // namespace

TEST_CASE("the text says what was compared, the ratio and the verdict in words, in 100 columns") {
    const auto text = to_text(with_everything());
    CHECK_THAT(
        text,
        contains(
            "attention=torch precision=torch/bf16 is FASTER than attention=naive: 3.00 [3.00, 3.00] times"));
    CHECK_THAT(text,
               contains("again is the SAME as attention=naive within 2 %: 1.00 [1.00, 1.00] times as fast"));
    CHECK_THAT(text, contains("diverges: not a number\n    the loss is not finite at step 5"));
    CHECK_THAT(text, contains("final losses after 40 steps, 5 seeds: difference from the base [90 %]"));
    CHECK_THAT(text, contains("final loss EQUIVALENT: +0.002 ["));
    CHECK_THAT(text, contains(" loss drift  skipped steps  stable\n"));
    CHECK_THAT(text, contains("-              0      NO\n"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(line.size() <= 100);
    }
}

TEST_CASE("the JSON holds the keys that others read, with null for what is not known") {
    const auto json = to_json(with_everything());
    CHECK(json["arms"].size() == 4);
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["arms"][2]["status"] == "nan");
    CHECK(json["arms"][2]["step_ms"].is_null());
    CHECK(json["arms"][1]["drift"]["gradient"] == 1e-6);
    CHECK(json["arms"][0]["drift"]["gradient"].is_null());
    CHECK(json["pairs"][0]["base"] == "attention=naive");
    CHECK(json["pairs"][0]["verdict"] == "FASTER");
    CHECK(json["pairs"][0]["speedup"]["median"].get<double>() == Approx(3.0));
    CHECK(json["pairs"][0]["loss"]["verdict"] == "EQUIVALENT");
    CHECK(json["exit_code"] == 1);
}

TEST_CASE("what ran is told from what an arm counted, however it wrote it") {
    const auto executed = nlohmann::ordered_json::parse(R"({
        "attention": [{"component": "torch", "plugin": "torch", "variant": "math", "phase": "train", "calls": 12},
                      {"component": "torch", "plugin": "torch", "variant": "flash", "phase": "eval", "calls": 1}],
        "optimizer": [{"component": "adamw", "plugin": "fast"}], "odd": 3, "odder": [4, {"component": 5}]})");
    CHECK(switchyard::base::executed_text(executed) == "attention torch@math, optimizer fast/adamw");
    CHECK(switchyard::base::executed_text(executed, switchyard::base::Called::at_all) ==
          "attention torch@flash + torch@math, optimizer fast/adamw");
    CHECK(switchyard::base::executed_text(executed, switchyard::base::Called::by_phase) ==
          "train: attention torch@math, optimizer fast/adamw; "
          "eval: attention torch@flash, optimizer fast/adamw");
}
