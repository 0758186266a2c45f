// What a comparison is written as for other programs, read back by their rules: the numbers are the report's.
// To add a case: a comparison, the reader, and what must come back.
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/kernel/base/json_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/gate/gate_report.h"
#include "core/workbench/report/csv_text.h"

#include "json_schema.h"
#include "made_up_arm.h"
#include "read_back.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using namespace switchyard::test;

using Json = nlohmann::ordered_json;

namespace {

const std::string formula = "=HYPERLINK(\"x\",\"a\"), |b*_`[c]\\ <img> @you";

// Names that mean something to who reads them, times with more digits than a table shows, an arm that fails.
Comparison measured() {
    auto settings = quick_settings();
    settings.seeds = 3;
    settings.loss_steps = 20;
    settings.loss_margin = LossMargin{0.02, false};
    MadeUp broken = steady(150.1), half = steady(100.0 / 3.0);
    broken.loss = [](std::int64_t step) { return step == 7 ? std::nan("") : 1.0; };
    half.dtype = "bfloat16";
    half.observed = step_of(1000);
    settings.observes = true;
    half.peak_memory_bytes = 123'456'789;
    half.seed_shift = [](int seed) { return 0.001 * seed; };
    half.involuntary_switches = 3;
    half.others_share = [](int) { return 0.01; };
    settings.eval_samples = 40;
    half.evaluation = [](int seed) { return Evaluation{39, 39, 13 + seed, 0.1 * (seed + 1)}; };
    Log log;
    std::vector<StartedArm> arms;
    MadeUp base = steady(77.7);
    base.not_evaluated = "=nothing, \"held out\"";
    arms.push_back(made_up_arm("base, \"the first\"", base, log));
    arms.push_back(made_up_arm(formula, half, log));
    arms.push_back(made_up_arm("'diverges\nat once", broken, log));
    auto comparison = run_experiment(std::move(arms), settings);
    auto& wrote = comparison.arms[1];  // as if it had generated
    wrote.prefill_ms = switchyard::base::Interval{100.0 / 7.0, 14.0, 15.0};
    wrote.decode_ms = switchyard::base::Interval{50.0 / 7.0, 7.0, 7.5};
    wrote.same_tokens = 5.0 / 6.0;
    wrote.start_up_ms = 3517.25;
    return comparison;
}

// The value that a cell stands for, as the report would have it.
Json value_of(const std::string& cell, const Json& like) {
    if (cell.empty() && !like.is_string()) return nullptr;
    if (like.is_string()) return text_of_cell(cell);
    return Json::parse(cell);
}

// A number with three digits or more is what it was rounded from.
void check_near(const std::string& shown, double value) {
    INFO(shown << " stands for " << value);
    CHECK(std::strtod(shown.c_str(), nullptr) == Approx(value).epsilon(0.006));
}

}  // namespace

TEST_CASE("CSV: a row for each arm, its numbers are the report's to the last digit") {
    const auto comparison = measured();
    const auto report = to_json(comparison);
    const auto rows = by_heads(csv_records(to_csv(comparison)));
    REQUIRE(rows.size() == 3);
    for (std::size_t at = 0; at < rows.size(); ++at) {
        auto row = rows[at];
        const auto& arm = report["arms"][at];
        INFO(arm["name"]);
        const auto check = [&](const std::string& column, const Json& value) {
            INFO(column);
            REQUIRE(row.contains(column));
            CHECK(value_of(row[column], value) == value);
        };
        const auto check_interval = [&](const std::string& column, const Json& value) {
            check(column, value.is_null() ? value : value["median"]);
            check(column + "_low", value.is_null() ? value : value["low"]);
            check(column + "_high", value.is_null() ? value : value["high"]);
        };
        check("arm", arm["name"]);
        for (const std::string same : {"status", "reason", "dtype", "ranks", "samples_per_second",
                                       "tokens_per_second", "peak_memory_bytes", "timed_by", "skipped_steps",
                                       "outliers", "description", "same_tokens", "start_up_ms"})
            check(same, arm[same]);
        for (const std::string same : {"step_ms", "prefill_ms", "decode_ms"}) check_interval(same, arm[same]);
        check("flops_per_second", arm["flops_per_second"]);
        for (const std::string part : {"parameters", "masters", "optimizer_state", "activations", "other"})
            check(part + "_bytes", arm["observed"].is_null()
                                       ? Json(nullptr)
                                       : arm["observed"]["memory"]["parts_at_peak"][part]);
        for (const std::string same : {"accuracy", "perplexity", "evaluation_loss", "not_evaluated"})
            check(same, arm[same]);
        check("stable", arm["stability"]["stable"]);
        check("loss_drift", arm["stability"]["loss_drift"]);
        check("first_step_loss_drift", arm["drift"]["loss"]);
        check("first_step_output_drift", arm["drift"]["output"]);
        check("first_step_gradient_drift", arm["drift"]["gradient"]);
        CHECK(row["base"].empty() == (at != 1));  // the base, and one that has failed
        if (at != 1) continue;
        const auto& pair = report["pairs"][0];
        for (const std::string same : {"base", "verdict", "p", "p_corrected", "block_correlation"})
            check(same, pair[same]);
        check("total_times_as_fast", pair["total_speedup"]);
        check_interval("times_as_fast", pair["speedup"]);
        check("final_loss_verdict", pair["loss"]["verdict"]);
        check("final_loss_difference", pair["loss"]["difference"]);
        check("final_loss_difference_low", pair["loss"]["low"]);
        check("final_loss_difference_high", pair["loss"]["high"]);
    }
    CHECK(rows[1].at("step_ms").size() > 10);
    for (const std::string written : {"prefill_ms", "decode_ms_high", "same_tokens"}) {
        CHECK(!rows[1].at(written).empty());
        CHECK(rows[0].at(written).empty());
    }
    CHECK(rows[2].at("step_ms").empty());
    CHECK(Json::parse(rows[1].at("accuracy")) == 14.0 / 39.0);  // of 13, 14 and 15
    CHECK(rows[0].at("accuracy").empty());
    CHECK(rows[0].at("not_evaluated") == "'=nothing, \"held out\"");
}

TEST_CASE("CSV: what a spreadsheet would take for a formula is text, and no cell leaves its place") {
    const auto text = switchyard::report::csv_text(
        {{{"a", "=1+1"}, {"b", "+1"}, {"c", "-1"}, {"d", "@x"}, {"e", "'=x"}, {"f", "\tx"}, {"g", -1}},
         {{"a", "a,b"},
          {"b", "\"q\""},
          {"c", "two\nlines"},
          {"d", nullptr},
          {"e", true},
          {"f", 0.1},
          {"g", ""}}});
    const auto records = csv_records(text);
    REQUIRE(records.size() == 3);
    CHECK(records[0] == Cells{"a", "b", "c", "d", "e", "f", "g"});
    CHECK(records[1] == Cells{"'=1+1", "'+1", "'-1", "'@x", "''=x", "'\tx", "-1"});
    CHECK(records[2] == Cells{"a,b", "\"q\"", "two\nlines", "", "true", "0.1", ""});
    for (const auto& record : csv_records(to_csv(measured())))
        for (const auto& cell : record) CHECK_FALSE(cell.starts_with('='));
}

TEST_CASE("JSON lines: one for each block that was measured, as the report has it") {
    const auto comparison = measured();
    const auto report = to_json(comparison);
    const JsonSchema schema(source_dir() / "docs/schema/compare_block.json");
    std::string text;
    for (const auto& line : block_lines(comparison)) text += line.dump() + "\n";
    std::istringstream lines(text);
    std::string line;
    std::size_t measured_blocks = 0;
    for (const auto& arm : report["arms"]) {
        for (std::size_t at = 0; at < arm["blocks"].size(); ++at) {
            const auto& block = arm["blocks"][at];
            if (block.is_null()) continue;
            ++measured_blocks;
            REQUIRE(std::getline(lines, line));
            const auto read = nlohmann::json::parse(line);
            for (const auto& fault : schema.faults(read)) FAIL_CHECK(fault);
            CHECK(read["arm"] == arm["name"]);
            CHECK(read["block"] == at);
            CHECK(read["seconds"].get<double>() ==
                  Approx(1e-3 * block["step_ms"].get<double>() * block["steps"].get<double>()));
            for (const auto& [key, value] : block.items()) CHECK(read[key] == nlohmann::json(value));
        }
    }
    CHECK_FALSE(std::getline(lines, line));
    CHECK(measured_blocks >= 2 * 9);
}

TEST_CASE("Markdown: its table is read back into the report's numbers") {
    const auto comparison = measured();
    GateRules rules;
    REQUIRE(read_gate_rules("slower:3%", rules).empty());
    for (const auto& gate : {GateResult{}, pass_gate(comparison, rules)}) {
        const auto rows =
            by_heads(markdown_records(markdown(comparison, gate, "bert", "switchyard compare x")));
        REQUIRE(rows.size() == 3);
        const auto& arm = comparison.arms[1];
        const auto& pair = comparison.pairs[0];
        CHECK(rows[0].at("Arm") == comparison.arms[0].spec.name);
        CHECK(rows[1].at("Arm") == formula);
        CHECK(rows[0].at("Times as fast [95 %]") == "base");
        check_near(rows[0].at("Samples/s"), comparison.arms[0].samples_per_second);
        check_near(rows[1].at("Samples/s"), arm.samples_per_second);
        const auto& ratio = rows[1].at("Times as fast [95 %]");
        double median = 0.0, low = 0.0, high = 0.0;
        REQUIRE(std::sscanf(ratio.c_str(), "%lf [%lf, %lf]", &median, &low, &high) == 3);
        CHECK(median == Approx(pair.speedup.median).epsilon(0.006));
        CHECK(low == Approx(pair.speedup.low).epsilon(0.006));
        CHECK(high == Approx(pair.speedup.high).epsilon(0.006));
        check_near(rows[1].at("Accuracy"), 14.0 / 39.0);
        CHECK(rows[0].at("Accuracy") == "-");
        CHECK(rows[1].at("Peak memory") == "123 MB");
        CHECK(rows[0].at("Peak memory") == "1.00 MB");
        CHECK(rows[1].at("Verdict") == "FASTER");
        CHECK(rows[2].at("Verdict") == "nan");
        CHECK(rows[2].at("Samples/s") == "-");
    }
}
