// What a run's page says of labels that are taken for each other.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/workbench/report/run_report.h"

#include <switchyard_test.h>

#include "balanced.h"

using namespace switchyard::report;
using switchyard::test::contains;
using switchyard::test::unbalanced;

namespace {

std::string confusion_page(const std::string& confusion) {
    const auto folder = switchyard::test::temporary_dir("confusion");
    std::ofstream(folder / "summary.json")
        << R"({"status": "finished", "steps": 4, "eval": {"loss": 0.5, "labels": 7, "confusion": )"
        << confusion << "}}";
    return run_report(read_run(folder.string()), nullptr);
}

}  // namespace

TEST_CASE("short names of labels lie, long ones stand upright") {
    CHECK_THAT(confusion_page(R"({"labels": ["0", "1"], "counts": [[3, 1], [0, 2]]})"),
               contains("<th scope=\"col\"><div class=\"level\">0</div></th>"));
    CHECK_THAT(confusion_page(R"({"labels": ["0", "very positive"], "counts": [[3, 1], [0, 2]]})"),
               contains("<th scope=\"col\"><div>0</div></th>"));
}

TEST_CASE("a report shows which labels are taken for which, and how well each is told") {
    const auto html = confusion_page(
        R"({"labels": ["<bad>", "good", "nowhere"], "counts": [[30, 10, 0], [0, 2000, 0], [0, 0, 0]]})");
    CHECK(unbalanced(html) == "");
    for (const char* text :
         {"<h2>Which labels are taken for which</h2>",
          "<th scope=\"col\"><div class=\"level\">&lt;bad&gt;</div></th>",
          "<th scope=\"row\">&lt;bad&gt;</th><td class=\"hit share-8\">30</td><td class=\"share-3\">10</td>"
          "<td class=\"none\">0</td>",
          "<td class=\"hit share-10\">2,000</td>", "<td class=\"hit none\">0</td>",
          // precision, recall, F1 and support of the first label
          "<div>1.00</div></td><td class=\"number\" data-label=\"Recall\"><div>0.750</div></td>"
          "<td class=\"number\" data-label=\"F1\"><div>0.857</div></td>"
          "<td class=\"number\" data-label=\"Support\"><div>40</div>",
          "mean, weighted by support", "data-label=\"Support\"><div>2,040</div>"})
        CHECK_THAT(html, contains(text));
    CHECK_THAT(html, !contains("data-label=\"Label\"><div>nowhere"));
    CHECK_THAT(html, !contains("<bad>"));
}

TEST_CASE("of many labels a report lists what is taken for what most often") {
    std::ostringstream labels, counts;
    for (int i = 0; i < 200; ++i) {
        labels << (i == 0 ? "" : ",") << "\"label " << i << '"';
        counts << (i == 0 ? "[" : ",[");
        for (int k = 0; k < 200; ++k)
            counts << (k == 0 ? "" : ",") << (i == k ? 5 : i == 17 && k == 3 ? 15 : i == 4 && k > 9 ? 1 : 0);
        counts << ']';
    }
    const auto html =
        confusion_page("{\"labels\": [" + labels.str() + "], \"counts\": [" + counts.str() + "]}");
    CHECK(unbalanced(html) == "");
    CHECK(html.size() < 200000);
    CHECK_THAT(html, !contains("class=\"matrix\""));
    CHECK_THAT(html, contains("<div>label 17</div></td><td data-label=\"Predicted\"><div>label 3</div></td>"
                              "<td class=\"number\" data-label=\"Times\"><div>15</div></td>"
                              "<td class=\"number\" data-label=\"Of the right label\"><div>75 %</div>"));
    CHECK_THAT(html, contains("161 more are in summary.json"));
    CHECK_THAT(html, contains("The lowest F1 first"));
    CHECK_THAT(html, contains("data-label=\"Label\"><div>label 4</div>"));  // the lowest recall
    CHECK_THAT(html, !contains("data-label=\"Label\"><div>label 199</div>"));
}

TEST_CASE("a report shows the samples of the largest loss") {
    const auto folder = switchyard::test::temporary_dir("worst");
    std::ofstream(folder / "summary.json")
        << R"({"status": "finished", "steps": 4, "eval": {"loss": 0.5, "labels": 7, "worst": [)"
        << R"({"loss": 3.25, "label": "<bad>", "predicted": "good", "text": "a & b)" << std::string(500, 'x')
        << R"("}, {"loss": null, "label": "good", "predicted": "bad", "text": ""}, 3]}})";
    const auto html = run_report(read_run(folder.string()), nullptr);
    CHECK(unbalanced(html) == "");
    for (const char* text :
         {"<h2>Largest losses</h2>", "&lt;bad&gt;", "3.25", "not finite", "a &amp; bxxx", "x…"})
        CHECK_THAT(html, contains(text));
    CHECK_THAT(html, !contains(std::string(450, 'x')));
}

TEST_CASE("a confusion matrix that is none is not shown") {
    for (const char* confusion :
         {"null", "[]", "{}", R"({"labels": ["a"]})", R"({"labels": [], "counts": []})",
          R"({"labels": ["a", "b"], "counts": [[1, 2]]})",
          R"({"labels": ["a", "b"], "counts": [[1, 2], [3]]})", R"({"labels": ["a"], "counts": [[-1]]})",
          R"({"labels": ["a"], "counts": [[0.5]]})", R"({"labels": ["a"], "counts": [["1"]]})",
          R"({"labels": ["a"], "counts": [[0]]})",
          R"({"labels": ["a", "b"], "counts": [[9007199254740992, 1], [0, 0]]})",
          R"({"labels": ["a"], "counts": [[18446744073709551615]]})"}) {
        INFO(confusion);
        const auto html = confusion_page(confusion);
        CHECK(unbalanced(html) == "");
        CHECK_THAT(html, !contains("Which labels"));
    }
}
