#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {

using report::escape;
using report::HtmlTable;
using report::page_number;

namespace {

bool judged_by_accuracy(const Comparison& comparison) {
    return comparison.eval_metric == EvalMetric::accuracy &&
           std::ranges::any_of(comparison.arms, [](const ArmResult& arm) {
               return median_of(arm.evaluations, EvalMetric::accuracy).has_value();
           });
}

}  // namespace

std::string stability_section(const Comparison& comparison) {
    HtmlTable table({{"Arm"}, {"Loss drift", true}, {"Skipped steps", true}, {"Stable"}});
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        const auto& [stable, reason, loss_drift, late_skips] = arm.stability;
        const std::string answer = !stable ? "–" : *stable ? "yes" : "<span class=\"bad\">no</span>";
        const std::string sign = loss_drift > 0.0 ? "+" : "";
        table.row({escape(arm.spec.name),
                   std::isfinite(loss_drift) ? sign + page_number(100.0 * loss_drift, 2) + " %" : "–",
                   page_value(static_cast<double>(arm.skipped_steps), 1), answer + why(reason)});
    }
    return section(
        "Stability",
        table.html() +
            note("Loss drift: of the mean loss over the last tenth of the steps from that of " +
                 base_of(comparison) + " over the same steps." +
                 (judged_by_accuracy(comparison) ? " Stable is also who is within one point of its "
                                                   "accuracy after every seed."
                                                 : "")));
}

}  // namespace switchyard::compare
