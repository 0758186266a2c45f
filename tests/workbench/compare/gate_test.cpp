// The gate: which exit code each thing that became worse gives, with made-up arms, and what other programs
// are shown. To add a case: say what the arm does differently from the base.
#include <cmath>

#include "core/workbench/bench/measure/simulated_blocks.h"
#include "core/workbench/compare/gate/gate_report.h"

#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

namespace {

MadeUp varying(double ms, double spread, std::uint64_t seed) {
    auto random = std::make_shared<PhiloxStream>(seed, 21);
    MadeUp arm;
    arm.step_ms = [=](std::int64_t) { return ms * std::exp(spread * standard_normal(*random)); };
    return arm;
}

Comparison measured(const MadeUp& base, const MadeUp& arm,
                    const ExperimentSettings& settings = quick_settings()) {
    Log log;
    std::vector<StartedArm> arms;
    arms.push_back(made_up_arm("base", base, log));
    arms.push_back(made_up_arm("arm", arm, log));
    return run_experiment(std::move(arms), settings);
}

GateRules rules_of(const std::string& text) {
    GateRules rules;
    REQUIRE(read_gate_rules(text, rules).empty());
    return rules;
}

int code(const Comparison& comparison, const std::string& rules) {
    return pass_gate(comparison, rules_of(rules)).exit_code();
}

std::string wrong(const std::string& text) {
    GateRules rules;
    return read_gate_rules(text, rules);
}

const std::string all = "slower:3%,memory:5%,drift";

}  // namespace

TEST_CASE("0: an arm that is as good as the base, or better") {
    CHECK(code(measured(varying(300, 0.005, 1), varying(300, 0.005, 2)), all) == 0);
    CHECK(code(measured(varying(300, 0.005, 1), varying(200, 0.005, 2)), all) == 0);
    CHECK(code(measured(varying(300, 0.005, 1), varying(302, 0.005, 2)), all) == 0);
}

TEST_CASE("4: gradients that nobody could compare are not the base's") {
    auto settings = quick_settings();
    settings.drift = [](std::size_t, std::size_t) { return Drift{0.0, 1e-7, std::nan("")}; };
    const auto result = measured(steady(300), steady(300), settings);
    CHECK(code(result, "drift") == 4);
    CHECK_THAT(pass_gate(result, rules_of("drift")).findings[0].text, contains("gradients"));
}

TEST_CASE("4: what was stopped before its end") {
    auto comparison = measured(steady(300), steady(300));
    CHECK(code(comparison, all) == 0);
    comparison.stopped = true;
    CHECK(code(comparison, all) == 4);
    CHECK_THAT(markdown(comparison, pass_gate(comparison, rules_of(all)), "", ""), contains("cannot tell"));
}

TEST_CASE("a rule is told with the threshold that was asked for") {
    for (const std::string rule : {"memory:12.5%", "slower:1.25%", "slower:3.0%", "memory:0.125%"})
        CHECK(pass_gate(measured(steady(300), steady(300)), rules_of(rule)).findings[0].rule == rule);
}

TEST_CASE("3: a seeded slow-down") {
    const auto result = pass_gate(measured(varying(300, 0.005, 1), varying(318, 0.005, 2)), rules_of(all));
    CHECK(result.exit_code() == 3);
    REQUIRE(result.findings.size() == 3);
    CHECK(result.findings[1].rule == "slower:3.0%");
    CHECK(result.findings[1].outcome == GateOutcome::regression);
    CHECK_THAT(result.findings[1].text, contains("takes ") && contains(" % more time than the base: 0.94"));
    // Where that is not asked for, it is no regression.
    CHECK(code(measured(varying(300, 0.005, 1), varying(318, 0.005, 2)), "memory:5%") == 0);
}

TEST_CASE("3: more memory") {
    MadeUp larger = steady(300);
    larger.peak_memory_bytes = 1'060'000;
    const auto result = pass_gate(measured(steady(300), larger), rules_of(all));
    CHECK(result.exit_code() == 3);
    CHECK_THAT(result.findings[2].text, contains(": 6.0 % more"));
    larger.peak_memory_bytes = 1'040'000;
    CHECK(code(measured(steady(300), larger), all) == 0);
    larger.peak_memory_bytes = -1;
    CHECK(code(measured(steady(300), larger), all) == 4);
}

TEST_CASE("4: too noisy to tell") {
    const auto result =
        pass_gate(measured(varying(300, 0.3, 5), varying(300, 0.3, 1)), rules_of("slower:1%"));
    CHECK(result.exit_code() == 4);
    CHECK_THAT(result.findings[0].text, contains("may be slower by more than 1.0%"));
    auto few = quick_settings();
    few.blocks = 3;
    CHECK(code(measured(steady(300), steady(300), few), "slower:3%") == 4);
}

TEST_CASE("4: what happens seldom is no reason to pass") {
    MadeUp seldom;
    seldom.step_ms = [](std::int64_t step) { return step % 6 == 5 ? 480.0 : 300.0; };
    auto settings = quick_settings();
    settings.blocks = 18;
    const auto result = pass_gate(measured(varying(300, 0.002, 1), seldom, settings), rules_of("slower:3%"));
    CHECK(result.exit_code() == 4);
    CHECK_THAT(result.findings[0].text, contains("all blocks together take 1"));
}

TEST_CASE("5: a wrong gradient, a wrong backend, whatever was asked for") {
    auto settings = quick_settings();
    settings.drift = [](std::size_t, std::size_t) { return Drift{0.0, 1e-7, 1e-2}; };
    const auto gradient = pass_gate(measured(steady(300), steady(100), settings), rules_of("slower:3%"));
    CHECK(gradient.exit_code() == 5);
    CHECK_THAT(gradient.findings[0].text, contains("its gradients are 1.0e-2 from the base's"));
    settings.drift = [](std::size_t, std::size_t) { return Drift{0.0, 1e-2, 1e-7}; };
    const auto backend = pass_gate(measured(steady(300), steady(300), settings), rules_of(all));
    CHECK(backend.exit_code() == 5);
    CHECK_THAT(backend.findings[0].text, contains("its outputs are 1.0e-2 from the base's"));
    settings.drift = [](std::size_t, std::size_t) { return Drift{0.0, INFINITY, 1e-7}; };
    const auto shape = pass_gate(measured(steady(300), steady(300), settings), rules_of("drift"));
    CHECK(shape.exit_code() == 5);
    CHECK_THAT(shape.findings[0].text, contains("its outputs are of another shape than the base's"));
}

TEST_CASE("5, 4 and 0: final losses") {
    auto settings = quick_settings();
    settings.seeds = 5;
    settings.loss_steps = 40;
    settings.loss_margin = LossMargin{0.02, false};
    MadeUp worse = steady(100), like = steady(100), wild = steady(100);
    worse.seed_shift = [](int seed) { return seed < 0 ? 0.0 : 0.2; };
    like.seed_shift = [](int seed) { return seed < 0 ? 0.0 : 0.001 * (seed - 2); };
    wild.seed_shift = [](int seed) { return seed < 0 ? 0.0 : 0.1 * (seed - 2); };
    CHECK(code(measured(steady(100), worse, settings), "loss:0.02") == 5);
    CHECK(code(measured(steady(100), like, settings), "loss:0.02") == 0);
    CHECK(code(measured(steady(100), wild, settings), "loss:0.02") == 4);
    CHECK(code(measured(steady(100), like), "loss:0.02") == 4);  // not compared
}

TEST_CASE("1: an arm that failed, whatever else there is") {
    MadeUp nan = steady(300);
    nan.loss = [](std::int64_t step) { return step == 4 ? std::nan("") : 1.0; };
    const auto result = pass_gate(measured(steady(300), nan), rules_of(all));
    CHECK(result.exit_code() == 1);
    CHECK(result.findings.front().outcome == GateOutcome::failed);
    CHECK(result.findings.front().text == "the loss is not finite at step 5");
    MadeUp crashing = steady(300);
    crashing.gone_from_turn = 3;
    CHECK(code(measured(steady(300), crashing), all) == 1);
}

TEST_CASE("4: a drift that nobody knows") {
    auto comparison = measured(steady(300), steady(300));
    comparison.arms[1].drift = {};
    CHECK(code(comparison, "drift") == 4);
}

TEST_CASE("rules that are no rules") {
    CHECK_THAT(wrong("slowr:3%"),
               contains("'slowr:3%' is none of slower:SHARE, memory:SHARE, drift and loss:MARGIN"));
    CHECK_THAT(wrong(""), contains("'' is none of"));
    CHECK_THAT(wrong("drift,"), contains("'' is none of"));
    CHECK(wrong("slower") == "slower needs a share above 0, as slower:3%, got ''");
    CHECK(wrong("memory:-5%") == "memory needs a share above 0, as memory:3%, got '-5%'");
    CHECK(wrong("slower:3%,slower:4%") == "'slower' stands there twice");
    CHECK(wrong("drift:1") == "drift takes no value: what rounding explains is measured");
    CHECK_THAT(wrong("loss:much"), contains("loss: expected a margin above 0"));
    const auto rules = rules_of("slower:3%,memory:0.05,drift,loss:2%");
    CHECK(*rules.slower == Approx(0.03));
    CHECK(*rules.memory == Approx(0.05));
    CHECK(rules.drift);
    CHECK(rules.loss->relative);
}

TEST_CASE("JUnit: a case for each finding, foreign text as text") {
    GateResult result;
    result.findings = {{"a <b> & \"c\"", "slower:3%", GateOutcome::regression, "takes 5 % more"},
                       {"d", "drift", GateOutcome::fine, ""},
                       {"e", "ran", GateOutcome::failed, "crashed\nlast words"},
                       {"f", "slower:3%", GateOutcome::cannot_tell, "noisy"}};
    const auto xml = junit_xml(result, 12.34);
    CHECK_THAT(xml, contains("tests=\"4\" failures=\"2\" errors=\"1\" skipped=\"0\" time=\"12.3\""));
    CHECK_THAT(xml, contains("classname=\"a &lt;b&gt; &amp; &quot;c&quot;\" name=\"slower:3%\""));
    CHECK_THAT(xml, contains("<failure type=\"REGRESSION\" message=\"takes 5 % more\"/>"));
    CHECK_THAT(xml, contains("<testcase classname=\"d\" name=\"drift\"/>"));
    CHECK_THAT(xml, contains("<error type=\"FAILED\""));
    CHECK_THAT(xml, contains("<failure type=\"CANNOT_TELL\""));
}

TEST_CASE("annotations are lines of their own, and foreign text ends none") {
    GateResult result;
    result.findings = {{"a: b, c", "slower:3%", GateOutcome::regression, "5 % more\n::stop-commands::x"},
                       {"d", "drift", GateOutcome::fine, ""},
                       {"f", "slower:3%", GateOutcome::cannot_tell, "noisy"}};
    CHECK(github_annotations(result) ==
          "::error title=REGRESSION%3A a%3A b%2C c%2C slower%3A3%25::5 %25 more%0A::stop-commands::x\n"
          "::warning title=CANNOT TELL%3A f%2C slower%3A3%25::noisy\n");
}

TEST_CASE("Markdown: a table of the arms, what is not fine below it, and no markup of others") {
    auto comparison = measured(varying(300, 0.005, 1), varying(318, 0.005, 2));
    comparison.arms[1].spec.name = "a|b <img> @you";
    comparison.arms[1].start_up_ms = 4200.0;
    const auto text =
        markdown(comparison, pass_gate(comparison, rules_of(all)), "bert", "switchyard compare x");
    CHECK_THAT(text, contains("### switchyard compare: a regression\n\nbert\n"));
    CHECK_THAT(text, contains("| base | base |"));
    CHECK_THAT(text, contains("| Samples/s | Start-up | Peak memory |") && contains(" | 4.20 s | "));
    CHECK_THAT(text, contains("| a\\|b &lt;img> &#64;you | 0.94"));
    CHECK_THAT(text, contains("- **REGRESSION** a\\|b &lt;img> &#64;you, slower:3.0%: takes "));
    CHECK_THAT(text, contains("\n    switchyard compare x\n"));
}
