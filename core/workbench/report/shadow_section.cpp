// What candidates did that ran beside the components that trained.
#include <cstddef>

#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"
#include "core/workbench/report/shadow_record.h"

namespace switchyard::report {
namespace {

constexpr std::size_t most_rows = 150;

std::string place_of(const Json& at) {
    std::string text;
    const auto step = number_of(at, "step");
    if (step) text = "step " + page_number(*step, 1);
    for (const char* key : {"layer", "tensor"})
        if (const auto more = text_of(at, key); !more.empty()) text += (text.empty() ? "" : ", ") + more;
    return text;
}

std::optional<ShadowDrift> read_drift(const Json& json) {
    const auto median = number_of(json, "median"), largest = number_of(json, "largest");
    if (!median || !largest) return std::nullopt;
    return ShadowDrift{*median, *largest, place_of(json)};
}

std::string drift_cell(const std::optional<ShadowDrift>& drift) {
    if (!drift) return "";
    auto text = base::scientific(drift->median) + ", at most " + base::scientific(drift->largest);
    if (drift->largest > 0.0 && !drift->where.empty())
        text += " <span class=\"muted\">(" + escape(breakable(drift->where)) + ")</span>";
    return text;
}

std::string faults_cell(const ShadowRow& row) {
    if (row.faulty_calls <= 0.0) return "none";
    return page_number(row.faulty_calls, 1) + ": " + escape(breakable(shortened(row.first_fault, 300)));
}

}  // namespace

std::vector<ShadowRow> read_shadow(const Json& json) {
    std::vector<ShadowRow> rows;
    if (!json.is_array()) return rows;
    for (const auto& one : json) {
        if (rows.size() == most_rows) break;
        const auto& faults = member(one, "faults");
        const auto& first = member(faults, "first");
        ShadowRow row;
        row.slot = text_of(one, "slot");
        row.layers = text_of(one, "layers");
        row.trusted = text_of(one, "trusted");
        row.candidate = text_of(one, "candidate");
        row.without_dropout = text_of(one, "dropout") == "off";
        row.calls = number_of(one, "calls").value_or(0.0);
        row.steps = number_of(one, "steps").value_or(0.0);
        row.faulty_calls = number_of(faults, "calls").value_or(0.0);
        row.first_fault = place_of(first);
        if (const auto text = text_of(first, "text"); !text.empty())
            row.first_fault += (row.first_fault.empty() ? "" : ": ") + text;
        row.outputs = read_drift(member(one, "outputs"));
        row.gradients = read_drift(member(one, "gradients"));
        row.time_ratio = interval_of(one, "time_ratio");
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string shadow_section(const RunRecord& run) {
    if (!run.summary || run.summary->shadow.empty()) return "";
    HtmlTable table({{"Slot"},
                     {"Candidate"},
                     {"Beside"},
                     {"Calls", true},
                     {"Drift of outputs"},
                     {"Drift of gradients"},
                     {"Time, of the trusted one\'s"},
                     {"Faults"}});
    bool without_dropout = false;
    for (const auto& row : run.summary->shadow) {
        without_dropout = without_dropout || row.without_dropout;
        table.row({escape(breakable(row.slot + ", " + row.layers)), escape(breakable(row.candidate)),
                   escape(breakable(row.trusted)),
                   page_number(row.calls, 1) + (row.without_dropout ? " *" : ""), drift_cell(row.outputs),
                   drift_cell(row.gradients),
                   row.time_ratio ? base::interval_text(*row.time_ratio) : std::string(), faults_cell(row)});
    }
    return "<section>\n<h2>Shadows</h2>\n<p>Candidates that were called with what the trusted components "
           "got, "
           "on some steps, and changed nothing of the training. Drift is the difference from the trusted "
           "component\'s values relative to their root mean square: of the median call, and the largest "
           "single value.</p>\n" +
           table.html() +
           (without_dropout ? "<p class=\"muted\">* Both were called without dropout, which not both draw "
                              "alike.</p>\n"
                            : "") +
           "</section>\n";
}

}  // namespace switchyard::report
