// A ladder as a section of the comparison's page: the waterfall and the table.
#include <algorithm>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/effects.h"
#include "core/workbench/compare/ladder/ladder_report.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_waterfall.h"

namespace switchyard::compare {
namespace {

using report::escape;
using report::shortened;

std::optional<base::Interval> interval_of(const std::optional<bench::RatioEstimate>& estimate) {
    return estimate ? known(estimate->ratio) : std::nullopt;
}

std::string ratio_html(const std::optional<bench::RatioEstimate>& estimate) {
    const auto ratio = interval_of(estimate);
    return ratio ? ratio_cell(*ratio) : "–";
}

// Of the nearest rung below that ran, or of the ground.
double from_of(const LadderRow& row, const std::vector<LadderRow>& rows) {
    for (auto below = row.rung->on; !below.empty();) {
        const auto found =
            std::ranges::find_if(rows, [&](const LadderRow& other) { return other.rung->name == below; });
        if (found == rows.end()) break;
        if (found->over_base) return found->over_base->ratio.median;
        below = found->rung->on;
    }
    return 1.0;
}

std::string waterfall_of(const std::string& title, const std::vector<LadderRow>& rows) {
    const bool writes = !rows.empty() && rows.front().writes;
    report::Waterfall plot{
        title,
        "",
        std::string("times the base's ") + (writes ? "tokens" : "samples") + " a second [95 %]",
        {}};
    for (const auto& row : rows) {
        report::Waterfall::Row drawn{row.rung->name, "",  row.depth,
                                     std::nullopt,   1.0, row.rung->published.speedup};
        if (row.result == nullptr) {
            drawn.label = "unavailable here";
        } else if (&row == &rows.front()) {
            drawn.label = "1, the base";
            drawn.ratio = base::Interval{1.0, 1.0, 1.0};
            drawn.from = 0.0;
        } else if (const auto ratio = interval_of(row.over_base)) {
            drawn.label = report::page_ratio(*ratio);
            if (const auto step = interval_of(row.over_parent)) drawn.label += "  " + effect_text(*step);
            drawn.ratio = ratio;
            drawn.from = from_of(row, rows);
        } else {
            drawn.label = row.status();
        }
        base::add_item(plot.description, drawn.name + ": " + drawn.label, "; ");
        plot.rows.push_back(std::move(drawn));
    }
    return "<figure>\n" + report::waterfall_for_all(plot) +
           "<figcaption>A bar begins at the speed of the nearest rung below that ran and ends at its own. "
           "The "
           "percentage is what the rung adds to the one that it stands on. A rhombus is a published figure, "
           "of another machine.</figcaption>\n"
           "</figure>\n";
}

std::string name_html(const LadderRow& row, const std::vector<LadderRow>& rows) {
    std::string html = escape(shortened(row.rung->name, 100));
    if (!row.rung->on.empty()) html += why("on " + shortened(row.rung->on, 100));
    if (const auto published = row.rung->published.text(); !published.empty())
        html += why("published: " + published);
    if (!row.ran()) html += why(row.status() + ": " + why_not_run(row, rows));
    return html;
}

}  // namespace

std::string ladder_section(const Ladder& ladder, const std::string& scale,
                           const std::vector<LadderRow>& rows) {
    const bool writes = !rows.empty() && rows.front().writes;
    const auto score = ladder_score(rows);
    std::vector<report::HtmlTable::Column> columns{{"Rung"},
                                                   {writes ? "New tokens/s" : "Samples/s", true},
                                                   {"Over the base", true},
                                                   {"Over its parent", true},
                                                   {"Batch", true},
                                                   {"Learning rate", true},
                                                   {"Start-up", true},
                                                   {"Peak memory", true}};
    if (score) columns.push_back({*score == EvalMetric::accuracy ? "Accuracy" : "Perplexity", true});
    columns.push_back({"Stable", score.has_value()});  // as narrow as numbers, where there are ten
    report::HtmlTable table(columns);
    for (const auto& row : rows) {
        const bool ran = row.ran();
        const auto& stable = ran ? row.result->stability.stable : std::optional<bool>();
        std::vector<std::string> cells{
            name_html(row, rows),
            ran ? page_value(writes ? row.result->tokens_per_second : row.result->samples_per_second) : "–",
            ratio_html(row.over_base),
            ratio_html(row.over_parent),
            row.place->batch > 0 ? std::to_string(row.place->batch) : "–",
            row.place->learning_rate > 0.0 ? learning_rate_text(row.place->learning_rate) : "–",
            ran && std::isfinite(row.result->start_up_ms) ? start_up_text(*row.result) : "–",
            ran && row.result->peak_memory_bytes >= 0
                ? base::bytes_text(static_cast<double>(row.result->peak_memory_bytes))
                : "–"};
        if (score) cells.push_back(row.score(*score) ? page_value(*row.score(*score), 4) : "–");
        cells.emplace_back(!stable ? "–" : *stable ? "yes" : "<span class=\"bad\">no</span>");
        table.row(cells);
    }
    return section("Ladder", "<p>" + escape(ladder.heading(scale)) + "</p>\n" +
                                 waterfall_of(ladder.heading(scale), rows) + table.html() +
                                 note("All intervals are of 95 %. Start-up is from the start of a rung's "
                                      "process to the end of its first "
                                      "steady step, with what it loads, compiles, captures and warms up. "
                                      "Published figures are of other machines: "
                                      "what a rung adds may be compared, " +
                                      std::string(writes ? "tokens" : "samples") + " a second may not."));
}

}  // namespace switchyard::compare
