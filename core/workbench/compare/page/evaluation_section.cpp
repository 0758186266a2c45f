#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>
#include <limits>

#include "core/kernel/base/joined.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {
namespace {

using report::escape;
using report::HtmlTable;
using report::shortened;

constexpr double no_score = std::numeric_limits<double>::quiet_NaN();  // that a cell sorts by

std::string score_html(const std::optional<double>& value) { return value ? page_value(*value, 4) : "–"; }

std::string scores_by_seed(const Evaluations& evaluations, EvalMetric metric) {
    std::string list;
    for (const auto& evaluation : evaluations) base::add_item(list, score_html(value_of(evaluation, metric)));
    return shortened(list, 300);
}

}  // namespace

std::string evaluation_section(const Comparison& comparison) {
    const auto metric = comparison.eval_metric;
    const std::string figure = metric == EvalMetric::accuracy     ? "Accuracy"
                               : metric == EvalMetric::perplexity ? "Perplexity"
                                                                  : "Loss";
    std::vector<HtmlTable::Column> columns{{"Arm"}, {figure, true}, {"By seed"}};
    if (metric != EvalMetric::loss) columns.push_back({"Loss", true});
    HtmlTable table(columns);
    bool any = false;
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        const auto value = median_of(arm.evaluations, metric),
                   loss = median_of(arm.evaluations, EvalMetric::loss);
        if (!loss) continue;
        any = true;
        std::vector<std::string> row{escape(shortened(arm.spec.name, 100)), score_html(value),
                                     scores_by_seed(arm.evaluations, metric)};
        std::vector<double> order{no_score, value.value_or(no_score), no_score};
        if (metric != EvalMetric::loss) {
            row.push_back(score_html(loss));
            order.push_back(*loss);
        }
        table.row(row, order);
    }
    std::string html;
    if (any) html = table.html() + note(evaluation_note(comparison));
    for (const auto& [reason, arms] : reasons_without_evaluation(comparison))
        html += note("Not evaluated: " + shortened(base::joined(arms), 300) + ": " + reason + ".");
    return html.empty() ? "" : section("Evaluation on held-out samples", html);
}

}  // namespace switchyard::compare
