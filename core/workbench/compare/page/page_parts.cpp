#include "core/workbench/compare/page/page_parts.h"

#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/workbench/compare/experiment/alike.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/number_text.h"

namespace switchyard::compare {

using report::escape;
using report::Hue;
using report::shortened;

Hue hue_of(std::size_t arm) {
    constexpr Hue hues[] = {Hue::a, Hue::b, Hue::c, Hue::d, Hue::e, Hue::f, Hue::g, Hue::h};
    return hues[arm % std::size(hues)];
}

std::string page_value(double value, int significant) {
    return std::isfinite(value) ? report::page_number(value, significant) : "–";
}

std::optional<base::Interval> known(const base::Interval& interval) {
    if (!std::isfinite(interval.median)) return std::nullopt;
    const auto bound = [&](double value) { return std::isfinite(value) ? value : interval.median; };
    return base::Interval{interval.median, bound(interval.low), bound(interval.high)};
}

std::string ratio_cell(const base::Interval& ratio) {
    const auto text = report::page_ratio(ratio);
    const auto ends = text.find('[');
    return "<span class=\"interval\">" + text.substr(0, ends) + "<span class=\"whole\">" + text.substr(ends) +
           "</span></span>";
}

std::string why(const std::string& reason) {
    return reason.empty() ? "" : " <span class=\"why\">" + escape(shortened(reason, 400)) + "</span>";
}

std::string notice(const std::string& text) { return "<p class=\"notice\">" + escape(text) + "</p>\n"; }

std::string status_text(const ArmOutcome& arm) { return std::string(name(arm.status)) + ": " + arm.reason; }

std::string arm_notices(const std::vector<const ArmOutcome*>& arms) {
    std::string html;
    for (const auto* arm : arms) {
        for (const auto& key : arm->spec.differs)
            html += notice("No fair comparison, it was forced: " + arm->spec.name + " differs in " + key);
    }
    std::vector<Alike> failures;
    for (const auto* arm : arms)
        if (!arm->ok()) add_alike(failures, arm->spec.name, status_text(*arm));
    for (const auto& [failure, names] : failures)
        html += notice(shortened(base::joined(names), 300) + ": " + shortened(failure, 1200));
    return html;
}

std::string facts_table(const std::vector<report::Fact>& facts, const std::string& command) {
    std::string rows;
    for (const auto& [fact, value] : facts) {
        if (!value.empty())
            rows += "<tr><th>" + escape(fact) + "</th><td>" + escape(shortened(value, 300)) + "</td></tr>\n";
    }
    if (!command.empty())
        rows += "<tr><th>Command</th><td><code>" + escape(shortened(command, 1500)) + "</code></td></tr>\n";
    return "<table class=\"facts\">\n" + rows + "</table>\n";
}

}  // namespace switchyard::compare
