// The page of a comparison: complete and partial, hostile and large. To add a case: change the comparison,
// and say what the page must hold.
#include <cmath>
#include <regex>
#include <string>

#include "core/workbench/compare/page/comparison_page.h"

#include "balanced.h"
#include "made_up_arm.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using switchyard::test::Approx;
using switchyard::test::contains;

namespace {

ArmResult arm(const std::string& name, double ms) {
    ArmResult made;
    made.spec.name = name;
    made.description = "switchyard";
    made.dtype = "float32";
    made.step_ms = {ms, ms - 1, ms + 1};
    made.samples_per_second = 3.2e4 / ms;
    made.tokens_per_second = 1e6 / ms;
    made.peak_memory_bytes = 700'000'000;
    made.drift = {1e-7, 2e-6, 3e-6};
    made.allowed = {1e-5, 1e-5, 1e-5};
    made.executed = {
        {"attention",
         {{{"component", "torch"}, {"plugin", "torch"}, {"variant", "math"}, {"phase", "train"}}}}};
    made.skipped_steps = 3;
    made.stability = {true, "", 0.0123, 1};
    for (int i = 0; i < 12; ++i) {
        made.blocks.push_back(ArmBlock{.sample = {.ms = ms + i, .outlier = i == 3}});
        made.losses.push_back(2.0 / (1.0 + i));
    }
    made.seed_losses = {made.losses};
    made.final_losses = {0.41, 0.42};
    return made;
}

PairResult pair(std::size_t arm, double ratio, SpeedVerdict verdict) {
    PairResult made;
    made.arm = arm;
    made.speedup = {ratio, ratio * 0.98, ratio * 1.02};
    made.verdict = verdict;
    made.loss = EquivalenceResult{Equivalence::equivalent, 0.001, -0.002, 0.004, 0.001, 2, ""};
    return made;
}

Comparison comparison() {
    Comparison made;
    made.arms = {arm("attention=naive", 300), arm("attention=torch", 100)};
    made.pairs = {pair(1, 3.0, SpeedVerdict::faster)};
    made.margin = LossMargin{0.02, false};
    made.loss_steps = 300;
    made.blocks = 12;
    return made;
}

std::string page_of(const Comparison& of) {
    return comparison_page(
        of, {"bert, 6 layers", "a.toml", "", "switchyard compare a.toml", {{"CPU", "A processor"}}});
}

}  // namespace

TEST_CASE("a comparison's page has the ratio, the losses, memory, blocks, drift, what ran, how") {
    const auto html = page_of(comparison());
    for (const char* part :
         {"<h1>attention=torch is 3.00 times as fast as attention=naive</h1>",
          "attention=torch is FASTER than attention=naive", "3.00 [2.94, 3.06]", "the same within 2 %",
          "Trained to the end", "Final losses after 300 steps, within 0.0200 of attention=naive?",
          "EQUIVALENT", "700 MB", "Left out: 2 samples that were outliers.", "attention torch@math",
          "A processor", "switchyard compare a.toml"}) {
        CHECK_THAT(html, contains(part));
    }
    auto fewer = comparison();
    fewer.arms[1].blocks[3]->sample.outlier = false;
    CHECK_THAT(page_of(fewer), contains("Left out: 1 sample that was an outlier."));
    CHECK(switchyard::test::unbalanced(html) == "");
    CHECK(html.size() < 150'000);
    CHECK(html.find("http") == std::string::npos);
}

TEST_CASE(
    "of arms that observed a step the page has what their memory is for, and lays their lines over each "
    "other") {
    auto made = comparison();
    CHECK_THAT(page_of(made), !contains("Live memory over a step") && !contains("At the peak of a step"));
    made.arms[0].observed = switchyard::test::step_of(100'000'000);
    const auto one = page_of(made);
    CHECK_THAT(one, contains("attention=torch: 700 MB, nobody told what for"));
    made.arms[1].observed = switchyard::test::step_of(140'000'000);
    made.arms[1].spec.name = "<b>";
    const auto html = page_of(made);
    CHECK_THAT(html,
               contains("&lt;b&gt;: 700 MB, parameters 140 MB, optimizer state 280 MB, activations 280 MB"));
    CHECK_THAT(html, contains("Live memory over a step"));
    CHECK_THAT(html, contains("&lt;b&gt;: 700 MB at most, after 40.0 ms"));
    CHECK_THAT(html, contains("most activations: encoder.0, 140 MB"));
    CHECK_THAT(html, contains("data-sort=\"280000000.0\" data-label=\"Optimizer state\"><div>280 MB"));
    CHECK_THAT(html, !contains("<div>masters"));
    CHECK(switchyard::test::unbalanced(html) == "");
    // The bar of the first in the plot of all arms: its parts end where its peak is, from the left.
    const auto plot = html.substr(html.find("<title>Peak memory"));
    const std::regex rect(
        "<rect x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"([0-9.]+)\" height=\"16\" class=\"bar "
        "fill-([a-h])\"><title>([a-z ]+) [0-9.]+ MB</title>");
    std::vector<double> x, width;
    std::string hues;
    for (std::sregex_iterator found(plot.begin(), plot.end(), rect), end; found != end && x.size() < 3;
         ++found) {
        x.push_back(std::stod((*found)[1]));
        width.push_back(std::stod((*found)[2]));
        hues += (*found)[3];
    }
    REQUIRE(x.size() == 3);
    CHECK(hues == "abd");
    CHECK(x[1] == Approx(x[0] + width[0]).margin(0.11));
    CHECK(x[2] == Approx(x[1] + width[1]).margin(0.11));
    CHECK(width[1] == Approx(2.0 * width[0]).margin(0.3));
}

TEST_CASE("the roofline shows what a step of each arm reaches, where that and the machine are known") {
    auto made = comparison();
    for (auto& one : made.arms) one.observed = switchyard::test::step_of(1000);
    CHECK_THAT(page_of(made), !contains("<h2>Roofline</h2>"));
    made.roofs.products = {{switchyard::DType::float32, 4e11}};
    made.roofs.read = made.roofs.copy = 3e10;
    // 1e7 operations a token, 10,000 tokens a second; 250 MB a step of 1 GFLOP.
    CHECK(made.flops_per_second(1) == Approx(1e11));
    const auto html = page_of(made);
    CHECK_THAT(html, contains("<h2>Roofline</h2>"));
    CHECK_THAT(
        html,
        contains("attention=torch: 100 GFLOP/s at 4.00 operations a byte, 25 % of the products in float32"));
    CHECK(switchyard::test::unbalanced(html) == "");
    made.arms[1].status = ArmStatus::crashed;
    CHECK(std::isnan(made.flops_per_second(1)));
    made.arms[0].observed.reset();
    CHECK_THAT(page_of(made), !contains("<h2>Roofline</h2>"));
}

TEST_CASE("rounds are told where blocks are shown, and what the verdict comes from") {
    auto made = comparison();
    CHECK_THAT(page_of(made), contains("Every arm was started once: what differs between two starts"));
    made.rounds = 3;
    for (auto& arm : made.arms) {
        for (std::size_t block = 0; block < arm.blocks.size(); ++block)
            arm.blocks[block]->round = static_cast<int>(3 * block / arm.blocks.size());
        arm.blocks.back()->repeated = true;
    }
    made.pairs[0].total_speedup = 2.5;
    made.pairs[0].p_corrected = 0.04;
    made.pairs[0].note = "all blocks together, the seldom slow ones too, are 2.50 times as fast";
    const auto html = page_of(made);
    CHECK_THAT(html, contains("Every arm was started anew 2 times on the way, at the vertical lines."));
    CHECK_THAT(html, contains("Intervals are of 3 starts of every arm."));
    CHECK_THAT(html, contains("All blocks together"));
    CHECK_THAT(html, contains("the seldom slow ones too, are 2.50 times as fast"));
    CHECK(switchyard::test::unbalanced(html) == "");
}

TEST_CASE("the page tells what others had of the machine, as the text does") {
    auto made = comparison();
    CHECK_THAT(page_of(made), !contains("Disturbed by others"));
    made.repeated_blocks = 2;
    made.arms[1].blocks[3]->others_share = 0.23;
    made.arms[0].blocks[0]->others_share = 0.6;
    made.arms[0].blocks[0]->repeated = true;
    CHECK_THAT(
        page_of(made),
        contains("Disturbed by others: 2 blocks repeated, for others had the processor; others took up "
                 "to 23 % of the processors in blocks that count."));
}

TEST_CASE("the headline names the winner, and what differs is told below it") {
    auto made = comparison();
    made.arms[0].spec.overrides = {"run.seed=3", "attention.backend=naive"};
    made.arms[1].spec.overrides = {"run.seed=3", "attention.backend=torch", "linear.backend=gemm"};
    const auto html = page_of(made);
    CHECK_THAT(html, contains("2 arms, which differ in <code>attention.backend</code>, "
                              "<code>linear.backend</code>.</p>"));
    CHECK_THAT(html, contains("<span class=\"why\">attention.backend=torch linear.backend=gemm</span>"));
    made.pairs[0].verdict = SpeedVerdict::slower;
    CHECK_THAT(page_of(made), contains("<h1>attention=naive is the fastest</h1>"));
    made.pairs[0].verdict = SpeedVerdict::cannot_tell;
    CHECK_THAT(page_of(made), contains("<h1>No arm is known to be faster than attention=naive</h1>"));
    made.pairs[0].verdict = SpeedVerdict::wrong;
    CHECK_THAT(page_of(made), contains("<h1>No arm is known to be faster than attention=naive</h1>"));
}

TEST_CASE("arms stand by their speed, the base among them, and losses by their difference from its") {
    auto made = comparison();
    made.arms.push_back(arm("slowest", 400));
    made.pairs.push_back(pair(2, 0.75, SpeedVerdict::slower));
    for (auto& loss : made.arms[2].losses) loss += 0.25;
    const auto html = page_of(made);
    const auto speed = html.substr(html.find("<h2>Speed</h2>"));
    const auto in_plot = speed.substr(0, speed.find("<table"));
    const auto in_table = speed.substr(speed.find("<table"));
    for (const auto& part : {in_plot, in_table}) {
        const auto first = part.find(">attention=torch"), second = part.find(">attention=naive"),
                   third = part.find(">slowest");
        REQUIRE(third != std::string::npos);
        CHECK(first < second);
        CHECK(second < third);
    }
    CHECK_THAT(html, contains("1, the base"));
    CHECK_THAT(html, contains("attention=naive <strong>(base)</strong>"));
    CHECK_THAT(html, contains("loss less that of attention=naive"));
    CHECK_THAT(html, contains("attention=torch: from 0 to 0; slowest: from 0.250 to 0.250"));
}

TEST_CASE("arms that trained other samples are named, and their losses are not taken from the base's") {
    auto made = comparison();
    made.arms.push_back(arm("ranks=2", 160));
    made.pairs.push_back(pair(2, 1.9, SpeedVerdict::faster));
    for (auto& loss : made.arms[2].losses) loss += 0.25;
    CHECK_THAT(page_of(made), contains("ranks=2: from 0.250 to 0.250"));
    CHECK_THAT(page_of(made), !contains("other samples"));
    made.arms[2].spec.own_batches = true;
    const auto html = page_of(made);
    CHECK_THAT(html, !contains("ranks=2: from 0.250 to 0.250"));
    CHECK_THAT(html, contains("attention=torch: from 0 to 0"));
    CHECK_THAT(html, contains("The losses of the timed steps. Steps of other samples than the base&#39;s: "
                              "ranks=2."));
    CHECK_THAT(html, contains("every arm trained on the same batches, but those of other samples a step than "
                              "the base&#39;s (ranks=2), in an order drawn anew."));
}

TEST_CASE("up to eight arms have colors of their own") {
    auto made = comparison();
    for (const std::string name : {"3", "4", "5", "6", "7", "8"}) {
        made.pairs.push_back(pair(made.arms.size(), 1.0, SpeedVerdict::same));
        made.arms.push_back(arm(name, 100));
    }
    const auto html = page_of(made);
    for (const std::string hue : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
        INFO(hue);
        CHECK_THAT(html, contains("class=\"line stroke-" + hue + "\""));
        CHECK_THAT(html, contains(".stroke-" + hue + " { stroke: var(--" + hue + "); }"));
        CHECK_THAT(html, contains(".fill-" + hue + " { fill: var(--" + hue + "); }"));
    }
}

TEST_CASE("arms that failed, a comparison that was forced or stopped are told first") {
    auto made = comparison();
    made.stopped = true;
    made.arms[1].spec.differs = {"model.layers: 1, the base has 2"};
    made.arms[1].by_coordinator = true;
    ArmResult broken;
    broken.spec.name = "broken";
    broken.status = ArmStatus::crashed;
    broken.reason = "was killed by signal 11 <b>";
    made.arms.push_back(broken);
    const auto html = page_of(made);
    CHECK_THAT(html, contains("Stopped before its end"));
    CHECK_THAT(
        html,
        contains(
            "No fair comparison, it was forced: attention=torch differs in model.layers: 1, the base has 2"));
    CHECK_THAT(html, contains("broken: crashed: was killed by signal 11 &lt;b&gt;"));
    CHECK_THAT(html, contains("timed from outside: the times it reports leave out much of its turns"));
    CHECK(switchyard::test::unbalanced(html) == "");
}

TEST_CASE("each arm has its loss drift, its skipped steps and whether it stayed stable") {
    auto made = comparison();
    made.arms.push_back(arm("wild", 100));
    made.arms.back().stability = {false, "the loss rose from 1 to <2>", 0.0123, 1};
    const auto html = page_of(made);
    CHECK_THAT(html, contains("<h2>Stability</h2>"));
    CHECK_THAT(html, contains("+1.2 %"));
    CHECK_THAT(html, contains("yes"));
    CHECK_THAT(
        html,
        contains(
            "<span class=\"bad\">no</span> <span class=\"why\">the loss rose from 1 to &lt;2&gt;</span>"));
    CHECK(switchyard::test::unbalanced(html) == "");
}

TEST_CASE("of a factorial experiment the page draws and tells each effect") {
    Comparison made;
    for (const std::size_t attention : {0, 1}) {
        for (const std::size_t layout : {0, 1}) {
            auto one = arm(std::to_string(attention) + std::to_string(layout), 100);
            one.spec.overrides = {attention == 0 ? "attention.backend=naive" : "attention.backend=<flash>",
                                  layout == 0 ? "batch.layout=padded" : "batch.layout=packed"};
            one.spec.levels = {attention, layout};
            one.blocks.clear();
            for (int block = 0; block < 24; ++block) {
                ArmBlock timed{
                    .sample = {.ms = (100.0 + block % 5) / (1.0 + attention) / (1.0 + 0.5 * layout)}};
                timed.steps = timed.samples = 1;
                timed.round = block / 4;
                one.blocks.emplace_back(timed);
            }
            made.arms.push_back(one);
        }
    }
    for (std::size_t at = 1; at < 4; ++at) made.pairs.push_back(pair(at, 2.0, SpeedVerdict::faster));
    const auto html = page_of(made);
    CHECK(switchyard::test::unbalanced(html) == "");
    const auto start = html.find("<h2>Effects</h2>");
    REQUIRE(start != std::string::npos);
    const auto effects = html.substr(start, html.find("</section>", start) - start);
    CHECK_THAT(effects, contains("attention=&lt;flash&gt;: alone +100.0 % [+100.0 %, +100.0 %]"));
    CHECK_THAT(effects, contains("attention=&lt;flash&gt; batch.layout=packed: together +200.0 %"));
    CHECK_THAT(effects, contains("batch.layout=packed: interaction 0.0 % ["));
    CHECK_THAT(effects, contains("role=\"img\""));
    CHECK_THAT(effects, contains("<div>average</div>"));
    made.arms.pop_back();
    made.arms.pop_back();
    made.pairs.pop_back();
    made.pairs.pop_back();
    for (auto& one : made.arms) one.spec.levels = {};
    CHECK(page_of(made).find("<h2>Effects</h2>") == std::string::npos);
}

TEST_CASE("what is unknown is left out") {
    Comparison made;
    made.arms.resize(1);
    made.arms[0].step_ms = {std::nan(""), std::nan(""), std::nan("")};
    const auto html = comparison_page(made, {});
    CHECK(switchyard::test::unbalanced(html) == "");
    CHECK(html.find("nan") == std::string::npos);
    for (const char* part : {"Final losses", "<h2>Memory", "<h2>Blocks", "<h2>First step", "<h2>What ran"})
        CHECK(html.find(part) == std::string::npos);
}

TEST_CASE("a hundred arms with long runs stay below 500 KB") {
    auto made = comparison();
    for (int i = 0; i < 98; ++i) {
        auto long_one = arm("arm number " + std::to_string(i), 100 + i);
        long_one.losses.clear();
        for (int step = 0; step < 3000; ++step) long_one.losses.push_back((step * 7919) % 1000 / 100.0);
        long_one.seed_losses = {long_one.losses};
        long_one.observed = switchyard::test::step_of(100'000'000 + i);
        for (int point = 0; point < 197; ++point)
            long_one.observed->memory.line.insert(long_one.observed->memory.line.end() - 1,
                                                  {40.0 + 0.2 * point, {(point * 7919) % 1000 * 1000}});
        made.pairs.push_back(pair(made.arms.size(), 0.1 + i, SpeedVerdict::slower));
        made.arms.push_back(long_one);
    }
    const auto html = page_of(made);
    CHECK(html.size() < 500'000);
    CHECK_THAT(html, contains("Plots show the fastest 12 of 100 arms, the base always among them."));
}
