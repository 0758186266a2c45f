// The page of a comparison, from JSON as `switchyard compare` writes it: complete and partial, hostile and
// large.
// To add a case: change the JSON, say what the page must hold.
#include <string>

#include <nlohmann/json.hpp>

#include "core/workbench/report/comparison_page.h"

#include "balanced.h"

#include <switchyard_test.h>

using namespace switchyard::report;
using nlohmann::ordered_json;
using switchyard::test::contains;

namespace {

ordered_json arm(const std::string& name, double ms) {
    ordered_json blocks = ordered_json::array(), losses = ordered_json::array();
    for (int i = 0; i < 12; ++i) {
        blocks.push_back({{"step_ms", ms + i}, {"position", 0}, {"outlier", i == 3}});
        losses.push_back(2.0 / (1.0 + i));
    }
    return {{"name", name},
            {"status", "ok"},
            {"dtype", "float32"},
            {"what", "switchyard"},
            {"step_ms", {{"median", ms}, {"low", ms - 1}, {"high", ms + 1}}},
            {"samples_per_second", 3.2e4 / ms},
            {"tokens_per_second", 1e6 / ms},
            {"peak_memory_bytes", 7e8},
            {"drift", {{"loss", 1e-7}, {"output", 2e-6}, {"gradient", 3e-6}}},
            {"drift_allowed", {{"loss", 1e-5}, {"output", 1e-5}, {"gradient", 1e-5}}},
            {"executed",
             {{"attention",
               {{{"component", "torch"}, {"plugin", "torch"}, {"variant", "math"}, {"phase", "train"}}}}}},
            {"skipped_steps", 3},
            {"stability",
             {{"stable", name != "wild"},
              {"reason", name == "wild" ? "the loss rose from 1 to <2>" : ""},
              {"loss_drift", 0.0123},
              {"late_skipped_steps", 1}}},
            {"blocks", blocks},
            {"losses", losses},
            {"seed_losses", ordered_json::array({losses})},
            {"final_losses", {0.41, 0.42}}};
}

ordered_json pair(const std::string& base, const std::string& name, double ratio,
                  const std::string& verdict) {
    return {{"base", base},
            {"arm", name},
            {"speedup", {{"median", ratio}, {"low", ratio * 0.98}, {"high", ratio * 1.02}}},
            {"verdict", verdict},
            {"p", 0.001},
            {"sentence", name + " is " + verdict + " than " + base},
            {"loss",
             {{"verdict", "EQUIVALENT"},
              {"difference", 0.001},
              {"low", -0.002},
              {"high", 0.004},
              {"reason", ""}}}};
}

ordered_json comparison() {
    return {{"title", "bert, 6 layers"},
            {"arms", {arm("attention=naive", 300), arm("attention=torch", 100)}},
            {"pairs", {pair("attention=naive", "attention=torch", 3.0, "FASTER")}},
            {"loss_margin", {{"size", 0.02}, {"relative", false}}},
            {"loss_steps", 300},
            {"blocks", 12},
            {"host", {{"cpu_model", "A processor"}}},
            {"command", "switchyard compare a.toml"}};
}

std::string page_of(const ordered_json& json) {
    return comparison_page(read_comparison(json.dump(), "c.json"));
}

}  // namespace

TEST_CASE("a comparison's page has the ratio, the losses, memory, blocks, drift, what ran, how") {
    const auto html = page_of(comparison());
    for (const char* part :
         {"attention=naive, attention=torch", "attention=torch is FASTER than attention=naive",
          "3.00 [2.94, 3.06]", "the same within 2 %", "Trained to the end",
          "Final losses after 300 steps, within 0.0200 of attention=naive?", "EQUIVALENT", "700 MB",
          "Left out: 2 samples that were outliers.", "attention torch@math", "A processor",
          "switchyard compare a.toml"}) {
        CHECK_THAT(html, contains(part));
    }
    CHECK(switchyard::test::unbalanced(html) == "");
    CHECK(html.size() < 150'000);
    CHECK(html.find("http") == std::string::npos);
}

TEST_CASE("up to eight arms have colors of their own") {
    auto json = comparison();
    for (const std::string name : {"3", "4", "5", "6", "7", "8"}) {
        json["arms"].push_back(arm(name, 100));
        json["pairs"].push_back(pair("attention=naive", name, 1.0, "SAME"));
    }
    const auto html = page_of(json);
    for (const std::string hue : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
        INFO(hue);
        CHECK_THAT(html, contains("class=\"line stroke-" + hue + "\""));
        CHECK_THAT(html, contains(".stroke-" + hue + " { stroke: var(--" + hue + "); }"));
        CHECK_THAT(html, contains(".fill-" + hue + " { fill: var(--" + hue + "); }"));
    }
}

TEST_CASE("arms that failed, a comparison that was forced or stopped are told first") {
    auto json = comparison();
    json["stopped"] = true;
    json["arms"][1]["differs"] = ordered_json::array({"model.layers: 1, the base has 2"});
    auto broken = arm("broken", 1);
    broken["status"] = "crashed";
    broken["reason"] = "was killed by signal 11 <b>";
    broken["step_ms"] = nullptr;
    json["arms"].push_back(broken);
    const auto html = page_of(json);
    CHECK_THAT(html, contains("Stopped before its end"));
    CHECK_THAT(
        html,
        contains(
            "No fair comparison, it was forced: attention=torch differs in model.layers: 1, the base has 2"));
    CHECK_THAT(html, contains("broken: crashed: was killed by signal 11 &lt;b&gt;"));
    CHECK(switchyard::test::unbalanced(html) == "");
}

TEST_CASE("each arm has its loss drift, its skipped steps and whether it stayed stable") {
    auto json = comparison();
    json["arms"].push_back(arm("wild", 100));
    const auto html = page_of(json);
    CHECK_THAT(html, contains("<h2>Stability</h2>"));
    CHECK_THAT(html, contains("+1.2 %"));
    CHECK_THAT(html, contains("yes"));
    CHECK_THAT(
        html,
        contains(
            "<span class=\"bad\">no</span> <span class=\"why\">the loss rose from 1 to &lt;2&gt;</span>"));
    CHECK(switchyard::test::unbalanced(html) == "");
    for (auto& one : json["arms"]) one.erase("stability");
    CHECK(page_of(json).find("Stability") == std::string::npos);
}

TEST_CASE("what is unknown is left out; what is no comparison is refused with its place") {
    const auto html = page_of({{"arms", {{{"name", "a"}}}}, {"pairs", ordered_json::array()}});
    CHECK(switchyard::test::unbalanced(html) == "");
    CHECK_THROWS_AS(read_comparison("{}", "c.json"), InputError);
    CHECK_THROWS_AS(read_comparison("{\"arms\": [1], \"pairs\": []}", "c.json"), InputError);
    CHECK_THROWS_AS(read_comparison("nonsense", "c.json"), InputError);
    CHECK(is_comparison(comparison().dump()));
    CHECK_FALSE(is_comparison("{\"rows\": []}"));
}

TEST_CASE("a hundred arms with long runs stay below 500 KB") {
    auto json = comparison();
    for (int i = 0; i < 98; ++i) {
        auto long_one = arm("arm number " + std::to_string(i), 100 + i);
        ordered_json losses = ordered_json::array();
        for (int step = 0; step < 3000; ++step) losses.push_back((step * 7919) % 1000 / 100.0);
        long_one["losses"] = losses;
        long_one["seed_losses"] = ordered_json::array({losses});
        json["arms"].push_back(long_one);
        json["pairs"].push_back(
            pair("attention=naive", "arm number " + std::to_string(i), 0.1 + i, "SLOWER"));
    }
    const auto html = page_of(json);
    CHECK(html.size() < 500'000);
    CHECK_THAT(html, contains("Plots show the first 12 of 100 arms."));
}

TEST_CASE("the page of a run takes a comparison for its stacks") {
    const auto times = stack_times(read_comparison(comparison().dump(), "c.json"), "c.json");
    REQUIRE(times.rows.size() == 2);
    CHECK(times.base == "attention=naive");
    CHECK(times.rows[0].is_base);
    CHECK(times.rows[1].verdict == "FASTER");
    CHECK(times.whole_runs);
}
