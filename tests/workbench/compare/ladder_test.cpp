// Ladders: what a file says, every mistake of it, and what is told of rungs whose speeds are made up. To add
// a case: write the file as text, and say what must come of it.
#include <cmath>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "core/workbench/bench/measure/simulated_blocks.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/ladder/ladder_report.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/svg_waterfall.h"

#include "balanced.h"
#include "count_of.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::compare;
using switchyard::test::contains;

namespace {

constexpr const char* good = R"(title = "A tree"
config = "job.toml"
set = { train.epochs = 1 }

[scale.small]
set = { model.layers = 2 }
batch_divisor = 16

[[rung]]
name = "amp"
on = "base"
set = { precision.backend = "amp/bf16", batch.size = 56 }
published = { speedup = 3.5, memory_gb = 6.2 }

[[rung]]
name = "base"
set = { batch.size = 8, "model.dropout" = 0.0, linear.backend = ["gemm", "torch"] }

[[rung]]
name = "peer"
on = "amp"
command = ["sh", "peer.sh"]
)";

Ladder ladder_of(const std::string& text) {
    auto read = parse_ladder(text, "folder/ladder.toml");
    if (const auto* const problems = std::get_if<std::string>(&read)) FAIL(*problems);
    return std::get<Ladder>(read);
}

std::string problems_of(const std::string& text) {
    auto read = parse_ladder(text, "l.toml");
    REQUIRE(std::holds_alternative<std::string>(read));
    return std::get<std::string>(read);
}

// An arm for each rung that is at home here, `speed` times as fast as the base.
struct Climbed {
    Comparison comparison;
    std::vector<RungPlace> places;
};

Climbed climbed(const Ladder& ladder, const std::vector<double>& speeds) {
    Climbed made;
    bench::PhiloxStream random(5, 7);
    for (std::size_t at = 0; at < ladder.rungs.size(); ++at) {
        auto& place = made.places.emplace_back();
        place.batch = 8;
        place.learning_rate = 2e-5;
        if (speeds[at] == 0.0) {
            place.unavailable = "no device <cuda>";
            continue;
        }
        place.arm = made.comparison.arms.size();
        auto& arm = made.comparison.arms.emplace_back();
        arm.spec.name = ladder.rungs[at].name;
        arm.samples_per_second = 100.0 * speeds[at];
        arm.peak_memory_bytes = 1'000'000;
        arm.start_up_ms = 12'345.0 * speeds[at];
    }
    for (int block = 0; block < 48; ++block) {
        const double mood = std::exp(0.3 * bench::standard_normal(random));
        for (auto& arm : made.comparison.arms) {
            ArmBlock timed;
            timed.sample.ms =
                mood * 1e4 / arm.samples_per_second * std::exp(0.005 * bench::standard_normal(random));
            timed.steps = timed.samples = 1;
            timed.round = block / 6;
            arm.blocks.emplace_back(timed);
        }
    }
    return made;
}

}  // namespace

TEST_CASE("a ladder's rungs stand parents first, each with the values of all that it stands on") {
    const auto ladder = ladder_of(good);
    REQUIRE(ladder.rungs.size() == 3);
    CHECK(ladder.rungs[0].name == "base");
    CHECK(ladder.rungs[1].name == "amp");
    CHECK(ladder.depth(2) == 2);
    CHECK(ladder.config_file() == "folder/job.toml");
    CHECK_FALSE(ladder.operation);
    CHECK(ladder_of("operation = \"generate\"\n" + std::string(good)).operation == Operation::generate);
    CHECK(ladder.rungs[1].published.text() == "3.50 times, 6.20 GB");
    const std::vector<std::string> values{"train.epochs=1", "model.dropout=0.0",
                                          "linear.backend=[\"gemm\", \"torch\"]",
                                          "precision.backend=\"amp/bf16\"", "batch.size=56"};
    CHECK(ladder.values(1, nullptr) == values);
    const auto arms = ladder_arms(ladder, &ladder.scales.at("small"));
    CHECK(arms[2].program == std::vector<std::string>{"sh", "peer.sh"});
    CHECK(arms[2].folder == "folder");
    // 56 / 16 and 8 / 16, of which one sample stays.
    CHECK(arms[1].overrides.back() == "batch.size=3");
    CHECK(std::ranges::count(arms[0].overrides, "batch.size=1") == 1);
    CHECK(std::ranges::count(arms[0].overrides, "model.layers=2") == 1);
}

TEST_CASE("a value that is given takes the place of what a ladder or its scale sets of all rungs") {
    auto ladder = ladder_of(good);
    ladder.leave_out({"model.layers=4", "batch.size=3"});
    const auto& small = ladder.scales.at("small");
    CHECK(ladder.values(0, &small) == std::vector<std::string>{"train.epochs=1", "batch.size=1",
                                                               "model.dropout=0.0",
                                                               "linear.backend=[\"gemm\", \"torch\"]"});
    CHECK_THAT(ladder.heading("small"), !contains("model.layers"));
    ladder.leave_out({"train.epochs = 2"});
    CHECK(ladder.values(0, nullptr).front() == "batch.size=8");
}

TEST_CASE("below each rung stands all that is on it, wherever the file has it") {
    const auto ladder = ladder_of(R"(title = "A tree"
config = "job.toml"
[[rung]]
name = "base"
[[rung]]
name = "half"
on = "base"
[[rung]]
name = "peer"
on = "base"
[[rung]]
name = "compiled peer"
on = "peer"
[[rung]]
name = "fused half"
on = "half"
)");
    std::vector<std::string> names;
    for (const auto& rung : ladder.rungs) names.push_back(rung.name);
    CHECK(names == std::vector<std::string>{"base", "half", "fused half", "peer", "compiled peer"});
}

TEST_CASE(
    "a circle, a parent that is not there and two rungs of one name are told at once with their lines") {
    const auto text = problems_of(R"(title = "A tree"
config = "job.toml"
[[rung]]
name = "base"
[[rung]]
name = "one"
on = "two"
[[rung]]
name = "two"
on = "one"
[[rung]]
name = "base"
on = "one"
[[rung]]
name = "lost"
on = "bse"
)");
    CHECK_THAT(text,
               contains("l.toml:7:6: error: rung \"one\": stands on itself, by way of \"two\", \"one\""));
    CHECK_THAT(text, contains("l.toml:10:6: error: rung \"two\": stands on itself"));
    CHECK_THAT(text,
               contains("l.toml:11:1: error: rung \"base\": there are two of this name; the other one is in "
                        "line 3"));
    CHECK_THAT(text, contains("l.toml:16:6: error: rung \"lost\": stands on \"bse\", which is not there"));
    CHECK_THAT(text, contains("did you mean base?"));
}

TEST_CASE("keys of a ladder that are wrong are told with their lines, whatever they are") {
    const auto text = problems_of(R"(title = 3
config = "job.toml"
operation = "dream"
colour = "red"
[[rung]]
name = "base"
set = ["batch.size=8"]
published = { speed = 2.0 }
[[rung]]
name = "second ground"
command = []
)");
    for (const char* part : {"l.toml:1:9: error: title",
                             "l.toml:3:13: error: operation: ", "l.toml:4:1: error: colour: unknown key",
                             "l.toml:7:7: error: rung[0].set: is a list; expected a table of values",
                             "published.speed: unknown key", "rung[1].command", "stands on nothing"})
        CHECK_THAT(text, contains(part));
    CHECK_THAT(problems_of("title = \"t\"\nconfig = \"c\"\n"), contains("rung: is missing"));
    CHECK_THAT(problems_of("title = \"t\"\nconfig = \"c\"\nrung = [{name = \"a\", on = \"a\"}]\n"),
               contains("stands on itself"));
    CHECK_THAT(problems_of("title = [[[[[[[[[[[[[[[[[[[[[["), contains("error"));
}

TEST_CASE("each rung has its speed over the base and over its parent, with intervals") {
    const auto ladder = ladder_of(R"(title = "A tree"
config = "job.toml"
[[rung]]
name = "base"
[[rung]]
name = "amp"
on = "base"
published = { speedup = 3.5, memory_gb = 6.2 }
[[rung]]
name = "flash"
on = "amp"
[[rung]]
name = "cuda"
on = "base"
[[rung]]
name = "on cuda"
on = "cuda"
)");
    const auto made = climbed(ladder, {1.0, 1.5, 1.8, 0.0, 2.0});
    const auto rows = ladder_rows(ladder, made.places, made.comparison);
    REQUIRE(rows.size() == 5);
    CHECK_FALSE(rows[0].over_base);
    CHECK(rows[1].over_base->ratio.median == Approx(1.5).epsilon(0.01));
    CHECK(rows[2].over_base->ratio.median == Approx(1.8).epsilon(0.01));
    CHECK(rows[2].over_parent->ratio.median == Approx(1.2).epsilon(0.01));
    CHECK(rows[2].over_parent->ratio.low < 1.2);
    CHECK(rows[2].over_parent->ratio.high > 1.19);
    // Nothing stands in for what does not run.
    CHECK(rows[3].result == nullptr);
    CHECK_FALSE(rows[3].over_base);
    CHECK_FALSE(rows[4].over_parent);
    CHECK(rows[4].over_base->ratio.median == Approx(2.0).epsilon(0.01));

    const auto text = ladder_text(ladder, "", rows);
    CHECK_THAT(text, contains("published: 3.50 times, 6.20 GB"));
    CHECK_THAT(text, contains("unavailable"));
    CHECK_THAT(text, contains("no device <cuda>"));
    CHECK_THAT(text, contains(" start-up ") && contains(" 12.3 s ") && contains(" 18.5 s "));
    // What all have alike is told once, and what of none is known not at all; each line is a rung.
    CHECK_THAT(text, contains("\n  all rungs: batch 8, lr 2e-5\n") && contains(" start-up   memory\n"));
    auto unlike = made;
    unlike.places[1].batch = 16;
    const auto others = ladder_text(ladder, "", ladder_rows(ladder, unlike.places, unlike.comparison));
    CHECK_THAT(others, contains("\n  all rungs: lr 2e-5\n") && contains(" batch ") && contains(" 16 "));
    const auto json = ladder_json(ladder, "small", rows);
    CHECK(json["scale"] == "small");
    CHECK(json["rungs"][3]["status"] == "unavailable");
    CHECK(json["rungs"][3]["samples_per_second"].is_null());
    CHECK(json["rungs"][1]["start_up_ms"] == 18517.5);
    CHECK(json["rungs"][3]["start_up_ms"].is_null());
    CHECK(json["rungs"][1]["published"]["memory_gb"] == 6.2);
    const auto html = ladder_section(ladder, "", rows);
    CHECK(test::unbalanced(html) == "");
    CHECK_THAT(html, contains("role=\"img\""));
    CHECK_THAT(html, contains("Start-up") && contains(">18.5 s<"));
    CHECK_THAT(html, contains("cuda: unavailable here"));
    CHECK_THAT(html, contains("no device &lt;cuda&gt;"));
    CHECK_THAT(html, contains("published: 3.50 times"));
    CHECK_THAT(ladder_plan_text(ladder, made.places), contains("unavailable: no device"));

    // Its title names the sizes of its file; a scale makes them others.
    auto scaled = ladder;
    scaled.title = "a model of 6 layers";
    scaled.scales["small"] = {{"model.layers=2", "model.heads=4"}, 8};
    const std::string said =
        "a model of 6 layers; changed by --scale small: model.layers=2, model.heads=4, batches divided by 8";
    CHECK_THAT(ladder_text(scaled, "small", rows), contains(said + "\n"));
    CHECK_THAT(ladder_section(scaled, "small", rows), contains("<p>" + said + "</p>"));
    CHECK_THAT(ladder_section(scaled, "", rows), contains("<p>a model of 6 layers</p>"));
}

TEST_CASE("why several rungs did not run is told once where it is the same") {
    const auto ladder = ladder_of(R"(title = "A tree"
config = "job.toml"
[[rung]]
name = "base"
[[rung]]
name = "cuda"
on = "base"
[[rung]]
name = "graphs"
on = "cuda"
[[rung]]
name = "eager"
on = "base"
[[rung]]
name = "compiled"
on = "eager"
)");
    auto made = climbed(ladder, {1.0, 0.0, 0.0, 1.0, 1.0});
    for (const std::size_t at : {1, 2}) {
        made.comparison.arms[at].status = ArmStatus::failed;
        made.comparison.arms[at].reason = "no module named <torch>";
    }
    const auto rows = ladder_rows(ladder, made.places, made.comparison);
    const auto text = ladder_text(ladder, "", rows);
    CHECK_THAT(text,
               contains("no module named <torch>\n") && contains("as eager\n") && contains("as cuda\n"));
    CHECK(test::count_of(text, "no module named <torch>") == 1);
    CHECK(test::count_of(text, "no device <cuda>") == 1);
    const auto html = ladder_section(ladder, "", rows);
    CHECK_THAT(html, contains("failed: as eager") && contains("unavailable: as cuda"));
    CHECK(test::count_of(html, "no module named &lt;torch&gt;") == 1);
    // Programs read each reason in full.
    CHECK(ladder_json(ladder, "", rows)["rungs"][4]["reason"] == "no module named <torch>");

    // Of arms without a ladder: one paragraph, one notice.
    const auto alike = to_text(made.comparison);
    CHECK_THAT(alike, contains("  eager, compiled: failed\n    no module named <torch>\n"));
    CHECK(test::count_of(alike, "no module named <torch>") == 1);
    CHECK_THAT(arm_notices({&made.comparison.arms[0], &made.comparison.arms[1], &made.comparison.arms[2]}),
               contains("<p class=\"notice\">eager, compiled: failed: no module named &lt;torch&gt;</p>\n"));
}

TEST_CASE("a ladder has a column of accuracy or perplexity where some rung was evaluated") {
    const auto ladder = ladder_of(R"(title = "A tree"
config = "job.toml"
[[rung]]
name = "base"
[[rung]]
name = "amp"
on = "base"
[[rung]]
name = "cuda"
on = "base"
)");
    auto made = climbed(ladder, {1.0, 1.5, 0.0});
    const auto rows_of = [&] { return ladder_rows(ladder, made.places, made.comparison); };
    CHECK_FALSE(ladder_score(rows_of()));
    CHECK_THAT(ladder_text(ladder, "", rows_of()), !contains("accuracy") && !contains("perplexity"));
    CHECK_THAT(ladder_section(ladder, "", rows_of()), !contains("Accuracy") && !contains("Perplexity"));
    CHECK(ladder_json(ladder, "", rows_of())["rungs"][1]["accuracy"].is_null());

    // Of three seeds, one of which is not known.
    made.comparison.arms[1].evaluations = {Evaluation{50, 40, 30, 3.5}, std::nullopt,
                                           Evaluation{50, 40, 33, 3.0}};
    CHECK(ladder_score(rows_of()) == EvalMetric::accuracy);
    CHECK_THAT(ladder_text(ladder, "", rows_of()), contains(" accuracy\n") && contains(" 0.7875\n"));
    CHECK_THAT(ladder_section(ladder, "", rows_of()),
               contains(">Accuracy<") && contains(">0.7875<") && !contains("Perplexity"));
    const auto json = ladder_json(ladder, "", rows_of());
    CHECK(json["rungs"][0]["accuracy"].is_null());
    CHECK(json["rungs"][1]["accuracy"] == 0.7875);
    CHECK(json["rungs"][1]["perplexity"].is_null());
    CHECK(json["rungs"][2]["accuracy"].is_null());
    CHECK(test::unbalanced(ladder_section(ladder, "", rows_of())) == "");

    made.comparison.eval_metric = EvalMetric::perplexity;
    CHECK_THAT(ladder_text(ladder, "", rows_of()), contains(" perplexity\n") && contains(" 26.60\n"));
    CHECK_THAT(ladder_section(ladder, "", rows_of()),
               contains(">Perplexity<") && contains(">26.60<") && !contains("Accuracy"));
    CHECK(ladder_json(ladder, "", rows_of())["rungs"][1]["perplexity"].get<double>() ==
          Approx((std::exp(3.5) + std::exp(3.0)) / 2.0));
    CHECK(ladder_json(ladder, "", rows_of())["rungs"][1]["accuracy"].is_null());

    made.comparison.eval_metric = EvalMetric::loss;  // of which published tables have no column
    CHECK_FALSE(ladder_score(rows_of()));
}

TEST_CASE("an interval that is far wider than all bars leaves the plot, and does not squeeze them") {
    switchyard::report::Waterfall plot;
    plot.title = "a ladder";
    plot.rows.push_back({"wide", "0.9", 0, switchyard::base::Interval{0.9, 0.001, 635.0}, 1.0, {}});
    plot.rows.push_back({"fast", "2.0", 0, switchyard::base::Interval{2.0, 1.9, 2.1}, 1.0, {}});
    const auto svg = switchyard::report::waterfall_for_all(plot);
    CHECK(switchyard::test::unbalanced(svg) == "");
    CHECK_THAT(svg, contains("l5 5l-5 5"));  // an arrow
    CHECK_THAT(svg, !contains(">100<") && !contains(">600<") && contains(">2.0<"));
}
