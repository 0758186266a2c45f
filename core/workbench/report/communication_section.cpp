// How much of the sums over ranks lies behind backward, and when they went on in one step.
#include <algorithm>

#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"
#include "core/workbench/report/svg_timeline.h"

namespace switchyard::report {
namespace {

constexpr std::size_t shown_sums = 16;

std::string span_text(double begin_ms, double end_ms) {
    return page_number(begin_ms) + " to " + page_number(end_ms) + " ms";
}

// The first ones and the last, which lies behind backward most.
std::vector<std::size_t> shown_numbers(std::size_t count) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < std::min(count, shown_sums); ++i) numbers.push_back(i);
    if (count > shown_sums) numbers.back() = count - 1;
    return numbers;
}

TimeLine line_of(const Communication& communication) {
    TimeLine line;
    line.title = "Sums over the ranks beside backward";
    line.x_label = "milliseconds from the beginning of backward";
    line.line = communication.backward_ms;
    line.description = "backward takes " + page_number(communication.backward_ms) + " ms";
    for (const auto number : shown_numbers(communication.sums.size())) {
        const auto& sum = communication.sums[number];
        const auto name = "sum " + std::to_string(number + 1);
        const auto label = span_text(sum.begin_ms, sum.end_ms);
        line.rows.push_back({name, label + ", " + bytes_text(sum.bytes), sum.begin_ms, sum.end_ms, Hue::b});
        line.description += "; " + name + " goes on from " + label;
    }
    line.rows.push_back(
        {"backward", span_text(0.0, communication.backward_ms), 0.0, communication.backward_ms, Hue::a});
    return line;
}

std::string table_of(const Communication& communication) {
    HtmlTable table(
        {{"Sum"}, {"Gradients", true}, {"From, ms", true}, {"To, ms", true}, {"After backward, ms", true}});
    for (const auto number : shown_numbers(communication.sums.size())) {
        const auto& sum = communication.sums[number];
        const double after = sum.end_ms - std::max(sum.begin_ms, communication.backward_ms);
        table.row({std::to_string(number + 1), bytes_text(sum.bytes), page_number(sum.begin_ms),
                   page_number(sum.end_ms), page_number(std::max(0.0, after))});
    }
    return table.html();
}

}  // namespace

std::string communication_section(const RunRecord& run) {
    if (!run.summary || !run.summary->communication) return "";
    const auto& communication = *run.summary->communication;
    std::string html = "<section>\n<h2>Communication and backward</h2>\n<p><strong>" +
                       page_number(100.0 * communication.hidden) +
                       " %</strong> of the time in which gradients were summed up over the ranks lay behind "
                       "backward: sums went on for " +
                       page_number(communication.ms_a_step) + " ms of a step, backward for " +
                       page_number(communication.backward_ms_a_step) + " ms (rank 0, mean of " +
                       page_number(communication.steps, 1) + " steps).</p>\n";
    if (communication.sums.empty()) return html + "</section>\n";
    html += "<figure>\n" + time_line_for_all(line_of(communication)) +
            "<figcaption>A step of median length: a sum begins as soon as backward has made its gradients. "
            "What lies right of the line, the end of backward, is waited for.</figcaption>\n</figure>\n" +
            table_of(communication);
    if (communication.sums.size() > shown_sums)
        html += "<p class=\"muted\">" + std::to_string(communication.sums.size() - shown_sums) +
                " more sums, before the last one, are in summary.json.</p>\n";
    return html + "</section>\n";
}

}  // namespace switchyard::report
