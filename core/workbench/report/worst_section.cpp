// The samples that the model was most wrong about.
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"

namespace switchyard::report {

std::string worst_section(const RunRecord& run) {
    if (!run.summary || run.summary->worst.empty()) return "";
    constexpr std::size_t longest_text = 400, longest_label = 60;
    HtmlTable table({{"Label"}, {"Predicted"}, {"Loss", true}, {"Text"}});
    for (const auto& one : run.summary->worst) {
        table.row(
            {escape(shortened(one.label, longest_label)), escape(shortened(one.predicted, longest_label)),
             one.loss ? page_number(*one.loss, 3) : "not finite", escape(shortened(one.text, longest_text))});
    }
    return "<section>\n<h2>Largest losses</h2>\n<p class=\"muted\">Samples of the last evaluation, the worst "
           "first: labels that are wrong stand here, and what the model has not learnt.</p>\n" +
           table.html() + "</section>\n";
}

}  // namespace switchyard::report
