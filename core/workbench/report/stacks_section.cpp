// Stacks of backends against each other.
#include <algorithm>

#include "core/kernel/base/joined.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {
namespace {

constexpr std::size_t shown_rows = 40;

std::string speedup_text(const StackRow& row) {
    if (row.is_base) return "base";
    return row.speedup ? page_interval(*row.speedup) + "×" : "";
}

std::string label_of(const StackRow& row) {
    if (!row.ms) return "not timed" + (row.message.empty() ? "" : ": " + row.message);
    std::string text = page_number(row.ms->median) + " ms";
    if (row.is_base)
        text += ", base";
    else if (row.speedup)
        text += ", " + page_number(row.speedup->median) + "×";
    if (row.memory_bytes) text += ", " + bytes_text(*row.memory_bytes);
    return text;
}

BarPlot plot_of(const StackTimes& stacks, std::size_t count) {
    BarPlot plot{"Time of each stack", "", "milliseconds, median and 95 % interval", {}};
    for (std::size_t i = 0; i < count; ++i) {
        const auto& row = stacks.rows[i];
        plot.bars.push_back({row.details.empty() ? row.name : row.name + " (" + row.details + ")",
                             label_of(row), row.ms, row.is_base ? Hue::d : Hue::a});
        base::add_item(plot.description, row.name + ": " + label_of(row), "; ");
    }
    return plot;
}

std::string table_of(const StackTimes& stacks, std::size_t count) {
    HtmlTable table({{"Stack"},
                     {"ms [95 %]", true},
                     {"Speedup [95 %]", true},
                     {stacks.whole_runs ? "Peak memory" : "Extra memory", true},
                     {"What ran"}});
    for (std::size_t i = 0; i < count; ++i) {
        const auto& row = stacks.rows[i];
        std::string ran = escape(shortened(row.ran, 400));
        if (!row.message.empty())
            ran += " <span class=\"why\">" + escape(shortened(row.message, 400)) + "</span>";
        std::string name = escape(row.name), speedup = speedup_text(row);
        if (!row.details.empty())
            name.append(" <span class=\"why\">").append(escape(row.details)).append("</span>");
        if (!row.verdict.empty() && !row.is_base) speedup.append(" ").append(escape(row.verdict));
        table.row({name, row.ms ? page_interval(*row.ms) : "not timed", speedup,
                   row.memory_bytes ? bytes_text(*row.memory_bytes) : "", ran});
    }
    return table.html();
}

// The lowest median, in words that claim no more than the interval does.
std::string fastest(const StackTimes& stacks) {
    const StackRow* best = nullptr;
    for (const auto& row : stacks.rows) {
        if (row.ms && (best == nullptr || row.ms->median < best->ms->median)) best = &row;
    }
    if (best == nullptr) return "<p>No stack was timed.</p>\n";
    std::string text = "<p>Lowest median: <strong>" + escape(best->name) + "</strong>, " +
                       page_number(best->ms->median) + " ms";
    if (best->speedup && !best->is_base) {
        text += ", " + page_interval(*best->speedup) + " times as fast as the base" +
                (best->speedup->low > 1.0 ? "" : "; the interval holds 1, so it may be no faster");
    }
    return text + ".</p>\n";
}

}  // namespace

std::string stacks_section(const StackTimes& stacks) {
    const auto count = std::min(stacks.rows.size(), shown_rows);
    std::string html = "<section>\n<h2>Stacks of backends</h2>\n" + fastest(stacks);
    if (!stacks.what.empty())
        html += "<p class=\"muted\">Timed: " + escape(shortened(stacks.what, 400)) + ".</p>\n";
    html += "<figure>\n" + bar_plot_for_all(plot_of(stacks, count)) +
            "<figcaption>Shorter is faster. The speedup is over the base; memory is " +
            (stacks.whole_runs ? "the most live tensor bytes within a turn."
                               : "what a call takes beyond its inputs.") +
            "</figcaption>\n</figure>\n" + table_of(stacks, count);
    if (count < stacks.rows.size())
        html += "<p class=\"muted\">" + std::to_string(stacks.rows.size() - count) +
                " more rows are in the file.</p>\n";
    return html + "</section>\n";
}

}  // namespace switchyard::report
