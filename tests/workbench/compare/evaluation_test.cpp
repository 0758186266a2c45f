// What arms find on held-out samples after each seed: who is asked, what is refused, how it is judged and
// told. To add a case: say in MadeUp what an arm finds, run it, look at the comparison.
#include <algorithm>
#include <cmath>

#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/seed_evaluations.h"
#include "core/workbench/compare/gate/gate_report.h"
#include "core/workbench/compare/page/comparison_page.h"

#include "balanced.h"
#include "made_up_arm.h"
#include "read_back.h"

#include <switchyard_test.h>

using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

using Json = nlohmann::ordered_json;

ExperimentSettings three_seeds(EvalMetric metric = EvalMetric::accuracy) {
    auto settings = quick_settings();
    settings.seeds = 3;
    settings.loss_steps = 60;
    settings.eval_samples = 200;
    settings.eval_metric = metric;
    return settings;
}

// Finds so many of 100 labels after the seed of that number.
MadeUp finding(const std::vector<std::int64_t>& correct, double loss = 0.5) {
    MadeUp arm = steady(100);
    arm.evaluation = [=](int seed) {
        return Evaluation{100, 100, correct.at(static_cast<std::size_t>(seed)), loss + 0.1 * seed};
    };
    return arm;
}

Comparison evaluated(const std::vector<std::pair<std::string, MadeUp>>& arms,
                     const ExperimentSettings& settings, Log& log) {
    std::vector<StartedArm> started;
    for (const auto& [name, arm] : arms) started.push_back(made_up_arm(name, arm, log));
    return run_experiment(std::move(started), settings);
}

Comparison evaluated(const std::vector<std::pair<std::string, MadeUp>>& arms,
                     const ExperimentSettings& settings = three_seeds()) {
    Log log;
    return evaluated(arms, settings, log);
}

std::string stable_text(const ArmResult& arm) {
    const auto& [stable, reason, drift, skips] = arm.stability;
    return std::string(!stable ? "-" : *stable ? "yes" : "no") + (reason.empty() ? "" : ": " + reason);
}

std::string page_with(const Comparison& comparison) {
    return comparison_page(comparison, {"bert", "a.toml", "", "switchyard compare a.toml", {}});
}

}  // namespace

TEST_CASE("each arm evaluates after the last step of a seed, and not otherwise") {
    Log log;
    const auto result = evaluated({{"a", finding({80, 81, 85})}}, three_seeds(), log);
    CHECK(std::ranges::count(log, "a evaluates") == 3);
    for (auto at = std::ranges::find(log, "a evaluates"); at != log.end();
         at = std::find(at + 1, log.end(), "a evaluates"))
        CHECK(*(at - 1) == "a runs 10");  // 60 steps in chunks of 50
    const auto& arm = result.arms[0];
    REQUIRE(arm.evaluations.size() == 3);
    CHECK(arm.evaluations[1]->correct == 81);
    CHECK(arm.evaluations[2]->loss == Approx(0.7));
    CHECK(arm.not_evaluated.empty());
    CHECK(median_of(arm.evaluations, EvalMetric::accuracy) == 0.81);
    CHECK(*median_of(arm.evaluations, EvalMetric::loss) == Approx(0.6));

    auto unasked = three_seeds();
    unasked.eval_samples = 0;
    CHECK(evaluated({{"a", finding({80, 81, 85})}}, unasked, log).arms[0].evaluations.empty());
    unasked = three_seeds();
    unasked.seeds = 0;
    CHECK(evaluated({{"a", finding({80, 81, 85})}}, unasked, log).eval_samples == 0);
    CHECK(std::ranges::count(log, "a evaluates") == 3);
}

TEST_CASE("an arm within a point of the base's accuracy after every seed is stable, another is not") {
    const auto result = evaluated({{"fp32", finding({84, 80, 90})},
                                   {"near", finding({85, 79, 90})},
                                   {"far", finding({84, 77, 90})},
                                   {"better", finding({84, 80, 93})}});
    CHECK(stable_text(result.arms[0]) == "yes");
    CHECK(stable_text(result.arms[1]) == "yes");
    CHECK(stable_text(result.arms[2]) == "no: seed 2: accuracy 0.77, the base has 0.8");
    CHECK(stable_text(result.arms[3]) == "no: seed 3: accuracy 0.93, the base has 0.9");
    CHECK(result.exit_code() == 0);  // as with losses: it is told
}

TEST_CASE("the base of accuracies is the first arm that works, whatever a step of the others takes") {
    MadeUp broken = finding({10, 10, 10});
    broken.first_loss = std::nan("");
    Log log;
    std::vector<StartedArm> arms;
    arms.push_back(made_up_arm("broken", broken, log));
    arms.push_back(made_up_arm("base", finding({84, 80, 90}), log));
    arms.push_back(made_up_arm("large", finding({84, 70, 90}), log));
    arms.push_back(made_up_arm("other data", finding({10, 10, 10}), log));
    arms[2].spec.own_batches = true;
    arms[3].spec.differs = {"data.train: b.tsv, the base has a.tsv"};
    const auto result = run_experiment(std::move(arms), three_seeds());
    CHECK(stable_text(result.arms[1]) == "yes");
    CHECK(stable_text(result.arms[2]) == "no: seed 2: accuracy 0.7, the base has 0.8");
    CHECK(stable_text(result.arms[3]) == "yes");
}

TEST_CASE("where one of the two has no accuracy, and of language models, the losses alone decide") {
    MadeUp silent = steady(100), only_loss = finding({-1, -1, -1});
    const auto result = evaluated({{"base", finding({84, 80, 90})}, {"silent", silent}, {"loss", only_loss}});
    CHECK(stable_text(result.arms[1]) == "yes");
    CHECK(result.arms[1].not_evaluated == "its answer to prepare has no \"evaluates\": true");
    CHECK(stable_text(result.arms[2]) == "yes");
    CHECK_FALSE(median_of(result.arms[2].evaluations, EvalMetric::accuracy));
    CHECK(evaluated({{"base", silent}, {"arm", finding({1, 2, 3})}}).arms[1].stability.stable == true);
    const auto models = evaluated({{"base", finding({84, 80, 90})}, {"arm", finding({1, 2, 3})}},
                                  three_seeds(EvalMetric::perplexity));
    CHECK(stable_text(models.arms[1]) == "yes");
}

TEST_CASE("an arm of a time before evaluations is compared as it was") {
    Log log;
    MadeUp older = steady(50);
    const auto result = evaluated({{"base", steady(100)}, {"older", older}}, three_seeds(), log);
    CHECK(std::ranges::none_of(log, [](const auto& line) { return line.ends_with("evaluates"); }));
    CHECK(result.arms[1].ok());
    CHECK(result.arms[1].final_losses.size() == 3);
    REQUIRE(result.arms[1].evaluations.size() == 3);
    CHECK(std::ranges::none_of(result.arms[1].evaluations, [](const auto& one) { return one.has_value(); }));
    CHECK_THAT(to_text(result),
               contains("not evaluated: base, older: its answer to prepare has no \"evaluates\": true"));
    CHECK(result.exit_code() == 0);
}

TEST_CASE("an evaluation of other samples than the other arms have is a protocol error") {
    MadeUp fewer = finding({84, 80, 90}), more = finding({84, 80, 90});
    fewer.evaluation = [](int) { return Evaluation{100, 99, 84, 0.5}; };
    more.evaluation = [](int seed) { return Evaluation{seed == 1 ? 101 : 100, 100, 84, 0.5}; };
    const auto result =
        evaluated({{"base", finding({84, 80, 90})}, {"fewer labels", fewer}, {"more samples", more}});
    CHECK(result.arms[1].status == ArmStatus::protocol_error);
    CHECK(result.arms[1].reason == "it reports 99 labels for its evaluation; the held-out samples have 100");
    CHECK(result.arms[2].status == ArmStatus::protocol_error);
    CHECK(result.arms[2].reason ==
          "it reports 101 samples for its evaluation; the held-out samples have 100");
    CHECK(result.arms[0].ok());
    CHECK(result.exit_code() == 1);

    // The arm whose weights all load is believed, not the one that comes first.
    Log log;
    std::vector<StartedArm> arms;
    arms.push_back(made_up_arm("peer", fewer, log));
    arms.front().spec.program = {"peer"};
    arms.push_back(made_up_arm("own", finding({84, 80, 90}), log));
    auto settings = three_seeds();
    settings.reference_arm = 1;
    const auto beside = run_experiment(std::move(arms), settings);
    CHECK(beside.arms[0].status == ArmStatus::protocol_error);
    CHECK(beside.arms[1].ok());
    // Another program may count the documents of a packed sample.
    CHECK(wrong_evaluation({300, 100, 1, 0.5}, {100, 100, 1, 0.5}, true) == "");
    CHECK(wrong_evaluation({300, 100, 1, 0.5}, {100, 100, 1, 0.5}, false) != "");
}

TEST_CASE("an evaluation that fits no protocol, is not finite or has no label") {
    MadeUp many = finding({101, 1, 1}), nan = finding({84, 80, 90}), empty = finding({84, 80, 90}),
           negative = finding({84, 80, 90});
    nan.evaluation = [](int seed) { return Evaluation{100, 100, 84, seed == 1 ? std::nan("") : 0.5}; };
    empty.evaluation = [](int) { return Evaluation{100, 0, 0, std::nan("")}; };
    const auto result =
        evaluated({{"many", many}, {"nan", nan}, {"empty", empty}, {"fine", finding({84, 80, 90})}});
    CHECK(result.arms[0].status == ArmStatus::protocol_error);
    CHECK_THAT(result.arms[0].reason, contains("counts 101 correct of 100 labels"));
    CHECK(result.arms[1].status == ArmStatus::nan);
    CHECK(result.arms[1].reason == "the loss of its evaluation after seed 2 is not finite");
    CHECK(stable_text(result.arms[1]) == "no: the loss of its evaluation after seed 2 is not finite");
    CHECK(result.arms[2].ok());
    CHECK(result.arms[2].not_evaluated == "the held-out samples have no label");
    CHECK(result.arms[3].ok());
    negative.evaluation = [](int) { return Evaluation{100, 100, 84, -0.5}; };
    CHECK(evaluated({{"a", negative}}).arms[0].ok());  // a custom loss may be
    const auto models = evaluated({{"a", negative}}, three_seeds(EvalMetric::perplexity));
    CHECK(models.arms[0].status == ArmStatus::protocol_error);
    CHECK_THAT(models.arms[0].reason, contains("below 0, as no cross-entropy is"));
}

TEST_CASE(
    "accuracies stand in the text, the JSON, the page and the Markdown, with how far chance takes them") {
    const auto result = evaluated({{"fp32", finding({84, 80, 90})}, {"<b>", finding({84, 77, 91}, 0.25)}});
    const auto text = to_text(result);
    CHECK_THAT(text, contains("evaluation  accuracy  lowest  highest    loss  labels"));
    CHECK_THAT(text, contains("fp32          0.8400  0.8000   0.9000  0.6000     100"));
    CHECK_THAT(evaluation_note(result),
               contains("A share of 0.840 of 100 labels has a standard error of 0.037"));
    CHECK_THAT(text, contains("standard error of 0.037"));
    CHECK_THAT(text, contains("seed 2: accuracy 0.77, the base has 0.8"));
    CHECK_THAT(text, !contains("not evaluated"));
    CHECK(standard_error(0.84, 1000) == Approx(0.0116).epsilon(0.01));  // docs/compare.md
    CHECK(standard_error(0.84, 10000) == Approx(0.0037).epsilon(0.01));

    const auto json = Json::parse(to_json(result).dump());
    CHECK(json["eval_samples"] == 200);
    const auto& arm = json["arms"][1];
    CHECK(arm["accuracy"] == 0.84);
    CHECK(arm["perplexity"].is_null());
    CHECK(arm["evaluation_loss"] == 0.35);
    CHECK(arm["not_evaluated"].is_null());
    REQUIRE(arm["evaluations"].size() == 3);
    CHECK(arm["evaluations"][2] == Json({{"samples", 100},
                                         {"labels", 100},
                                         {"correct", 91},
                                         {"accuracy", 0.91},
                                         {"perplexity", nullptr},
                                         {"evaluation_loss", 0.25 + 0.1 * 2}}));

    const auto html = page_with(result);
    CHECK_THAT(html,
               contains("<h2>Evaluation on held-out samples</h2>") && contains("0.8400, 0.7700, 0.9100"));
    CHECK_THAT(html, contains("standard error of 0.037") && contains("within one point of its accuracy"));
    CHECK(unbalanced(html) == "");
    const auto rows = by_heads(markdown_records(markdown(result, {}, "bert", "")));
    CHECK(rows[0].at("Accuracy") == "0.8400");
}

TEST_CASE("of language models perplexities stand there, of numbers their loss, of no evaluation why") {
    const auto models = evaluated({{"a", finding({84, 80, 90}, 2.0)}, {"b", steady(100)}},
                                  three_seeds(EvalMetric::perplexity));
    CHECK_THAT(to_text(models), contains("evaluation  perplexity  lowest  highest   loss  labels") &&
                                    contains("8.166   7.389    9.025  2.100"));
    CHECK_THAT(to_text(models), !contains("standard error"));
    const auto json = to_json(models);
    CHECK(json["arms"][0]["perplexity"] == std::exp(2.1));
    CHECK(json["arms"][0]["accuracy"].is_null());
    CHECK(json["arms"][0]["evaluations"][0]["accuracy"].is_null());
    CHECK(json["arms"][0]["evaluations"][0]["correct"] == 84);
    CHECK(json["arms"][1]["evaluations"][0].is_null());
    CHECK_THAT(page_with(models), contains("Perplexity") && contains("Not evaluated: b: "));
    CHECK(by_heads(markdown_records(markdown(models, {}, "gpt", "")))[1].at("Perplexity") == "-");

    const auto numbers = evaluated({{"a", finding({-1, -1, -1})}}, three_seeds(EvalMetric::loss));
    CHECK_THAT(to_text(numbers), contains("evaluation    loss  lowest  highest  labels"));
    CHECK(to_json(numbers)["arms"][0]["evaluation_loss"] == 0.6);
    CHECK_THAT(markdown(numbers, {}, "bert", ""), !contains("Accuracy") && !contains("Perplexity"));

    MadeUp random = steady(100);
    random.not_evaluated = "the job has no data\x1b[31m";
    const auto none = evaluated({{"a", random}, {"b", random}});
    CHECK_THAT(to_text(none), contains("not evaluated: a, b: the job has no data\\x1b[31m\n"));
    CHECK_THAT(to_text(none), !contains("accuracy"));
    CHECK(to_json(none)["arms"][0]["not_evaluated"] == "the job has no data\\x1b[31m");
    CHECK_THAT(page_with(none), contains("Not evaluated: a, b: "));
}
