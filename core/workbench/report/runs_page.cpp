#include "core/workbench/report/runs_page.h"

#include <algorithm>

#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/number_text.h"

namespace switchyard::report {
namespace {

constexpr std::size_t shown_keys = 24;
constexpr std::size_t shown_metrics = 24;
constexpr std::size_t shown_problems = 3;
constexpr std::size_t longest_value = 120;
constexpr std::size_t table_bytes = 150'000;  // after which no more rows come

std::string muted(const std::string& text) { return "<p class=\"muted\">" + escape(text) + "</p>\n"; }

// Breaks anywhere: no name and no value is wider than its column.
std::string value_cell(const std::string& text) {
    return text.empty() ? "" : "<code>" + escape(shortened(text, longest_value)) + "</code>";
}

std::string number_cell(const std::optional<double>& value, int significant) {
    return value ? page_number(*value, significant) : "";
}

std::string name_cell(const ListedRun& run) {
    std::string html = value_cell(run.name);
    for (std::size_t i = 0; i < std::min(run.problems.size(), shown_problems); ++i)
        html += " <span class=\"why bad\">" + escape(shortened(run.problems[i], 400)) + "</span>";
    return html;
}

std::string state_cell(const ListedRun& run) {
    const bool bad = run.state == "failed" || run.state == "broken" || run.state == "interrupted";
    const char* const css = run.state == "finished" ? "good" : bad ? "bad" : "";
    return "<span class=\"whole " + std::string(css) + "\">" + escape(run.state) + "</span>";
}

// A table of a row for each run, as many as there is room for, and a line about the others.
template <class Cells>
std::string rows_of(const RunList& list, const std::string& label, HtmlTable table, const Cells& cells) {
    std::size_t bytes = 0, shown = 0;
    for (const auto& run : list.runs) {
        if (bytes > table_bytes) break;
        const auto row = cells(run);
        for (const auto& cell : row) bytes += cell.size() + 60;
        table.row(row);
        ++shown;
    }
    std::string html = "<div class=\"scroll\" role=\"region\" aria-label=\"" + escape(label) +
                       "\" tabindex=\"0\">\n" + table.html() + "</div>\n";
    if (shown < list.runs.size())
        html += muted(std::to_string(list.runs.size() - shown) + " more runs are left out; --json has all.");
    return html;
}

std::string what_differs(const RunList& list) {
    if (list.differing.empty()) return muted("Their configurations do not differ.");
    if (list.differing.size() <= shown_keys) return "";
    return muted("They differ in " + std::to_string(list.differing.size()) + " keys, of which the first " +
                 std::to_string(shown_keys) + " are shown; --json has all.");
}

std::string runs_section(const RunList& list, const std::string& sorted_by) {
    const auto metrics = metrics_in_rows(list, sorted_by);
    const std::vector<std::string> keys(
        list.differing.begin(),
        list.differing.begin() + static_cast<std::ptrdiff_t>(std::min(list.differing.size(), shown_keys)));
    std::vector<HtmlTable::Column> columns{
        {"Run"}, {"State"}, {"Last written"}, {"Steps", true}, {"Training loss", true}};
    for (const auto& metric : metrics) columns.push_back({"eval." + shortened(metric, longest_value)});
    columns.push_back({"Samples/s", true});
    const bool ranks = has_several_ranks(list);
    if (ranks) columns.push_back({"Ranks", true});
    for (const auto& key : keys) columns.push_back({shortened(key, longest_value)});
    const auto cells = [&](const ListedRun& run) {
        std::vector<std::string> row{name_cell(run), state_cell(run), clock_text(run.written),
                                     number_cell(run.steps, 1), number_cell(run.train_loss, 4)};
        for (const auto& metric : metrics) row.push_back(score_text(run, metric));
        row.push_back(number_cell(run.samples_per_second, 3));
        if (ranks) row.push_back(number_cell(run.ranks, 1));
        for (const auto& key : keys) row.push_back(value_cell(value_text(run, key)));
        return row;
    };
    return "<section>\n<h2>Runs</h2>\n" +
           muted((sorted_by.empty() ? "The newest first" : "The best eval." + sorted_by + " first") +
                 "; after the speed each key of the configuration that is not the same in all.") +
           rows_of(list, "Runs", HtmlTable(std::move(columns)), cells) + what_differs(list) + "</section>\n";
}

std::string scores_section(const RunList& list, const std::string& sorted_by) {
    if (list.metrics.size() <= metrics_in_rows(list, sorted_by).size()) return "";
    std::vector<HtmlTable::Column> columns{{"Run"}};
    const auto count = std::min(list.metrics.size(), shown_metrics);
    for (std::size_t i = 0; i < count; ++i) columns.push_back({shortened(list.metrics[i], longest_value)});
    const auto cells = [&](const ListedRun& run) {
        std::vector<std::string> row{value_cell(run.name)};
        for (std::size_t i = 0; i < count; ++i) row.push_back(score_text(run, list.metrics[i]));
        return row;
    };
    std::string html = "<section>\n<h2>Scores</h2>\n" +
                       muted("Of the last evaluation, and of the best one where that is another.") +
                       rows_of(list, "Scores", HtmlTable(std::move(columns)), cells);
    if (count < list.metrics.size())
        html +=
            muted(std::to_string(list.metrics.size() - count) + " more scores are left out; --json has all.");
    return html + "</section>\n";
}

}  // namespace

std::string runs_page(const RunList& list, const std::string& sorted_by) {
    const auto title = "Runs in " + shortened(list.folder, 300);
    return page(title, "<h1>" + escape(title) + "</h1>\n<p class=\"lead\">" + escape(summary_of(list)) +
                           "</p>\n" + runs_section(list, sorted_by) + scores_section(list, sorted_by) +
                           "<footer>Made by <code>switchyard runs</code> from the folders of the runs."
                           "</footer>\n");
}

}  // namespace switchyard::report
