// Pages as a browser shows them, in light and in dark colors and on paper: measure.js lays each out at
// several widths, sorts its tables and says what is wrong. Skipped where there is no Chromium.
// To add a page: a case that makes it and calls check_page.
#include <cmath>
#include <fstream>

#include "core/workbench/compare/ladder/ladder_report.h"
#include "core/workbench/compare/page/page_sections.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/page_script.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

enum class Colors : std::uint8_t { light, dark };

// The program's name, or nothing where there is none.
std::string browser() {
    for (const std::string name : {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"})
        if (in_path(name)) return name;
    return {};
}

// What measure.js finds wrong with a page; its last line is "measured".
std::string faults(const std::string& html, Colors colors) {
    const auto folder = temporary_dir("page");
    std::ofstream(folder / "measured.html")
        << "<!DOCTYPE html><meta charset=\"utf-8\"><body><pre id=\"faults\"></pre><textarea id=\"page\" "
           "hidden>"
        << report::escape(html) << "</textarea><script>"
        << bytes_of(source_dir() / "tests/workbench/report/pages/measure.js") << "</script>";
    // Without a sandbox, which wants rights that containers withhold: the page is our own.
    Words words{browser(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--user-data-dir=" + (folder / "profile").string(),
                "--virtual-time-budget=60000",
                "--dump-dom",
                "file://" + (folder / "measured.html").string()};
    if (colors == Colors::dark) words.emplace_back("--force-dark-mode");
    const auto outcome = run_program(words);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto& document = outcome.out;
    const std::string begin = "<pre id=\"faults\">";
    const auto at = document.find(begin);
    REQUIRE(at != std::string::npos);
    const auto text = at + begin.size();
    return document.substr(text, document.find("</pre>", text) - text);
}

void check_page(const std::string& html) {
    CHECK(html.size() < 500'000);
    for (const auto colors : {Colors::light, Colors::dark}) {
        INFO((colors == Colors::dark ? "dark" : "light"));
        CHECK(faults(html, colors) == "measured");
    }
}

// The page that a command writes with --html.
std::string page_of(const TinyJob& job, Words words, int code = 0) {
    const auto file = job.file("page.html");
    words.insert(words.end(), {"--html", file});
    const auto outcome = run(words);
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.code == code);
    return bytes_of(file);
}

constexpr const char* no_browser = "no Chromium is in PATH";

}  // namespace

TEST_CASE("the browser's measurement finds what is wrong") {
    if (browser().empty()) return skip(no_browser);
    const auto found = [](const std::string& body) {
        return faults(report::page("A page", body), Colors::light);
    };
    CHECK(found("<h1>One</h1><p>Text.</p>") == "measured");
    CHECK_THAT(found("<h1>One</h1><p style=\"width: 1000px\">" + std::string(160, 'x') + "</p>"),
               contains("400 pixels: outside of the page's column") && contains("pixels wide"));
    CHECK_THAT(found("<h1>One</h1><p style=\"color: #999\">Pale.</p>"), contains("contrast 2.8"));
    CHECK_THAT(found("<h1>One</h1><p style=\"display: none\">Hidden.</p>"),
               contains("not shown: \"Hidden.\""));
    CHECK_THAT(found("<h1>One</h1><p>Below.</p><p style=\"margin-top: -30px\">Above.</p>"),
               contains("lie upon each other"));
    CHECK_THAT(found("<h1>One</h1><p><svg width=\"10\" height=\"10\"></svg></p>"),
               contains("a picture has no alternative text"));
    CHECK_THAT(found("<h1>One</h1><h2>Two</h2><h2>Three</h2><p>Text.</p>"),
               contains("nothing stands below \"Two\""));
}

TEST_CASE("the browser's measurement finds what is wrong on paper") {
    if (browser().empty()) return skip(no_browser);
    const auto found = [](const std::string& body, Colors colors = Colors::light) {
        return faults(report::page("A page", body), colors);
    };
    CHECK_THAT(found("<h1>One</h1><p style=\"background: #222; color: #eee\">Light on dark.</p>"),
               contains("paper of 717 pixels: not dark on white: \"Light on dark.\""));
    // Dark colors stay on the screen; what is scrolled to there is lost on paper.
    CHECK(found("<h1>One</h1><p>Text.</p>", Colors::dark) == "measured");
    const std::string style = "<style>@media print { body { background: #eee !important; } }</style>";
    CHECK(found(style + "<h1>One</h1><p>Text.</p>") ==
          "paper of 717 pixels: the paper is not white\npaper of 739 pixels: the paper is not white\n"
          "paper of 979 pixels: the paper is not white\npaper of 1046 pixels: the paper is not "
          "white\nmeasured");
    const auto scrolled = found(
        "<h1>One</h1><div style=\"overflow-x: auto\" tabindex=\"0\"><p style=\"width: "
        "1500px\">" +
        std::string(200, 'x') + "</p></div>");
    CHECK_THAT(scrolled, contains("paper of 717 pixels: outside of the page's column"));
    CHECK_THAT(scrolled, !contains("\n400 pixels") && !contains("\n1400 pixels"));
}

TEST_CASE("a table is sorted by a click on a head, up and down, what has no number last") {
    if (browser().empty()) return skip(no_browser);
    report::HtmlTable table({{"Arm"}, {"Samples/s", true}, {"Memory", true}});
    const double none = std::nan("");
    table.row({"arm 10", "9.50", "1.2 GB"}, {none, 9.5, 1.2e9});
    table.row({"arm 9", "–", "900 MB"}, {none, none, 9e8});
    table.row({"arm 11", "10.0", "–"}, {none, 10.0, none});
    const auto body = "<h1>One</h1>" + table.html();
    CHECK(faults(report::page("A page", body, report::sort_script), Colors::light) == "measured");
    // It is measured, not believed.
    CHECK_THAT(faults(report::page("A page", body), Colors::light),
               contains("400 pixels: no button sorts by \"Samples/s\""));
    std::string as_text(report::sort_script);
    const std::string by_number = "numbers ? one - other";
    as_text.replace(as_text.find(by_number), by_number.size(),
                    "numbers ? String(one) < String(other) ? -1 : 1");
    CHECK_THAT(faults(report::page("A page", body, as_text), Colors::light),
               contains("the rows are not ascending by \"Samples/s\""));
}

TEST_CASE("pages of runs and of their list are shown whole at all widths") {
    if (browser().empty()) return skip(no_browser);
    const TinyJob job;
    REQUIRE(job.trained("runs/one", {"train.eval_every=2", "optimizer.lr=1e-2"}).code == 0);
    REQUIRE(job.trained("runs/two", {"attention.backend=naive", "batch.layout=packed"}).code == 0);
    check_page(page_of(job, {"report", job.run_folder("runs/one")}));
    check_page(page_of(job, {"runs", job.run_folder("runs")}));
}

TEST_CASE("the page of a comparison is shown whole at all widths") {
    if (browser().empty()) return skip(no_browser);
    const TinyJob job;
    // Combinations, and an arm that cannot end well.
    check_page(
        page_of(job,
                {"compare", job.file("job.toml"), "--vary", "attention.backend=naive,torch", "--vary",
                 "precision.backend=torch/fp32,torch/bf16", "--arm", "much too fast: optimizer.lr=1e30",
                 "--blocks", "6", "--rounds", "1", "--steps-per-block", "1", "--time", "0.5"},
                1));
}

TEST_CASE("the page of a ladder is shown whole at all widths") {
    if (browser().empty()) return skip(no_browser);
    const TinyJob job;
    job.write("ladder.toml", R"(title = "Tiny"
config = "job.toml"
[[rung]]
name = "the reference, which computes everything as it is written"
set = { attention.backend = "naive" }
[[rung]]
name = "attention by torch"
on = "the reference, which computes everything as it is written"
set = { attention.backend = "torch" }
published = { speedup = 2.0 }
[[rung]]
name = "and a batch of another size"
on = "attention by torch"
set = { batch.size = 8 }
[[rung]]
name = "not there"
on = "attention by torch"
command = ["a_program_that_is_not_there"]
)");
    const Words words{"compare",  "--ladder", job.file("ladder.toml"), "--blocks", "6",
                      "--rounds", "1",        "--steps-per-block",     "1",        "--time",
                      "0.5"};
    check_page(page_of(job, words));
    check_page(page_of(job, with(words, {"--seeds", "2", "--steps", "2"})));  // a column more, of accuracies
}

TEST_CASE("intervals are shown whole however wide few blocks make them") {
    if (browser().empty()) return skip(no_browser);
    using namespace switchyard::compare;
    Ladder ladder;
    ladder.title = "Tiny";
    for (const char* const name : {"the reference, which computes everything as it is", "attention by torch",
                                   "products in bfloat16, batch 56"}) {
        Rung rung;
        rung.name = name;
        if (!ladder.rungs.empty()) rung.on = ladder.rungs.back().name;
        ladder.rungs.push_back(rung);
    }
    bench::RatioEstimate wide, narrow;
    wide.ratio = {0.141, 2.3e-7, 3.4e7};
    narrow.ratio = {1.12, 0.863, 1.45};
    Comparison comparison;
    comparison.arms.resize(ladder.rungs.size());
    std::vector<LadderRow> rows;
    RungPlace place;
    place.batch = 56;
    place.learning_rate = 2e-5;
    for (std::size_t at = 0; at < ladder.rungs.size(); ++at) {
        auto& arm = comparison.arms[at];
        arm.spec.name = ladder.rungs[at].name;
        arm.dtype = "bfloat16";
        arm.step_ms = {12.3, 0.0012, 34567.8};
        arm.samples_per_second = 123.4;
        arm.tokens_per_second = 12345.6;
        arm.peak_memory_bytes = 648'000'000;
        arm.start_up_ms = 1234.5;
        auto& row = rows.emplace_back();
        row.rung = &ladder.rungs[at];
        row.place = &place;
        row.result = &arm;
        row.depth = static_cast<int>(at);
        row.accuracy = 0.8396;
        if (at == 0) continue;
        row.over_base = wide;
        row.over_parent = at == 1 ? wide : narrow;
        PairResult pair;
        pair.arm = at;
        pair.speedup = row.over_parent->ratio;
        comparison.pairs.push_back(pair);
    }
    check_page(report::page("A page",
                            "<h1>One</h1>" + ladder_section(ladder, "", rows) + speed_section(comparison),
                            report::sort_script));
}

TEST_CASE("the page of an inference benchmark is shown whole at all widths") {
    if (browser().empty()) return skip(no_browser);
    const TinyJob job;
    check_page(page_of(job, {"bench", "inference", job.file("job.toml"), "--blocks", "2", "--batch", "1,3",
                             "--length", "5,9", "--vary", "attention.backend=torch,naive"}));
}

TEST_CASE("the page of a profile is shown whole at all widths") {
    if (browser().empty()) return skip(no_browser);
    const TinyJob job;
    check_page(page_of(job, {"profile", job.file("job.toml"), "--active", "2", "--repeat", "1"}));
}
