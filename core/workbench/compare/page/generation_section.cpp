#include "core/workbench/compare/page/page_sections.h"

#include <cmath>

#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {

using report::escape;
using report::HtmlTable;
using report::page_interval;

// Parts of a pass, and how far what was written is the same.
std::string generation_section(const Comparison& comparison) {
    if (comparison.operation != Operation::generate) return "";
    HtmlTable table({{"Arm"},
                     {"Prefill, ms a pass [95 %]", true},
                     {"Decode, ms a pass [95 %]", true},
                     {"Same tokens as the base", true}});
    const auto text = [](const std::optional<base::Interval>& interval) {
        const auto bounded = interval ? known(*interval) : std::nullopt;
        return bounded ? page_interval(*bounded) : "–";
    };
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        if (!arm.ok()) continue;
        table.row({escape(report::shortened(arm.spec.name, 100)), text(arm.prefill_ms), text(arm.decode_ms),
                   std::isfinite(arm.same_tokens) ? page_value(100.0 * arm.same_tokens) + " %" : "–"});
    }
    return section(
        "Prefill and decode",
        table.html() +
            note(
                "Prefill: from the prompts to the first new token of every row; decode: all that follow. The "
                "likeliest token is taken each time, none ends a row; the same are those before the first "
                "of a row that differs."));
}

}  // namespace switchyard::compare
