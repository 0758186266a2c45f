#include "core/workbench/compare/page/page_sections.h"

#include <cmath>

#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {
namespace {

using report::escape;
using report::HtmlTable;

std::string drift(const Comparison& comparison) {
    HtmlTable table({{"Arm"},
                     {"Loss", true},
                     {"Outputs", true},
                     {"Gradients", true},
                     {"Rounding explains (outputs, gradients)", true}});
    bool any = false;
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        if (!std::isfinite(arm.drift.loss) && !std::isfinite(arm.drift.output)) continue;
        any = true;
        table.row({escape(arm.spec.name), page_value(arm.drift.loss, 2), page_value(arm.drift.output, 2),
                   page_value(arm.drift.gradient, 2),
                   page_value(arm.allowed.output, 2) + ", " + page_value(arm.allowed.gradient, 2)});
    }
    const bool steps = trains(comparison.operation), writes = comparison.operation == Operation::generate;
    const std::string outputs =
        writes ? "first prompts' logits, as they grow by given tokens," : "first samples' outputs";
    return any ? note("Relative distance of the " + (steps ? std::string("first step") : outputs) + " from " +
                      (steps ? "that of " : "those of ") + base_of(comparison) +
                      ": equal weights, the same " +
                      (steps    ? "batches"
                       : writes ? "prompts"
                                : "samples") +
                      ", dropout off.") +
                     table.html()
               : "";
}

}  // namespace

std::string drift_section(const Comparison& comparison) {
    const bool steps = trains(comparison.operation);
    const bool writes = comparison.operation == Operation::generate;
    return section(steps ? "First step" : writes ? "First tokens" : "First samples", drift(comparison));
}

}  // namespace switchyard::compare
