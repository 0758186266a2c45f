#include "core/workbench/compare/page/page_sections.h"

#include "core/kernel/base/executed_text.h"
#include "core/kernel/base/joined.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {

using report::escape;
using report::HtmlTable;
using report::shortened;

std::string executed_section(const Comparison& comparison) {
    HtmlTable table({{"Arm"}, {"What ran, counted"}});
    bool any = false;
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        const auto ran = base::executed_text(arm.executed, called(comparison));
        if (ran.empty() && arm.description.empty()) continue;
        any = true;
        table.row({escape(arm.spec.name), escape(shortened(ran.empty() ? arm.description : ran, 600))});
    }
    return any ? section("What ran", table.html()) : "";
}

}  // namespace switchyard::compare
