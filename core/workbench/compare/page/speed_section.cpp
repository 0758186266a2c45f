#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/config/override.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_forest.h"

namespace switchyard::compare {
namespace {

using base::bytes_text;
using report::escape;
using report::HtmlTable;
using report::in_words;
using report::page_interval;
using report::shortened;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();  // that a cell sorts by

// "attention.backend=torch precision.backend=torch/bf16": what an arm sets of these keys.
std::string settings_of(const ArmResult& arm, const std::vector<std::string>& keys) {
    std::string text;
    for (const auto& value : arm.spec.overrides) {
        if (std::find(keys.begin(), keys.end(), config::override_key(value)) != keys.end())
            base::add_item(text, value, " ");
    }
    return text;
}

std::string name_with_notes(const ArmResult& arm, const std::vector<std::string>& keys, bool is_base) {
    std::string html = escape(shortened(arm.spec.name, 100));
    if (is_base) html += " <strong>(base)</strong>";
    const auto settings = settings_of(arm, keys);
    if (settings != arm.spec.name) html += why(settings);
    if (arm.description != "switchyard") html += why(shortened(arm.description, 100));
    if (arm.by_coordinator) html += why(timed_from_outside);
    if (!arm.measured_before.empty())
        html += why("measured before, in " + shortened(arm.measured_before, 100) +
                    ": it took no turns with the others");
    if (!arm.ok()) html += " <span class=\"why bad\">" + escape(shortened(status_text(arm), 400)) + "</span>";
    return html;
}

std::string ratios(const Comparison& comparison) {
    report::ForestPlot plot{
        "Speed over " + base_of(comparison), "", "times as fast as the base [95 %]", bench::same_margin, {}};
    bool any = false;
    for (const auto at : plotted(comparison)) {
        const auto& arm = comparison.arms[at].spec.name;
        const auto* const pair = comparison.pair_with(at);
        if (pair == nullptr && at == base_at(comparison)) {
            plot.rows.push_back({arm, "1, the base", {1.0, 1.0, 1.0}, hue_of(at)});
            continue;
        }
        const auto ratio = pair != nullptr ? known(pair->speedup) : std::nullopt;
        if (!ratio) continue;
        any = true;
        plot.rows.push_back(
            {arm, report::page_ratio(*ratio) + "  " + in_words(name(pair->verdict)), *ratio, hue_of(at)});
        base::add_item(plot.description, arm + ": " + plot.rows.back().label, "; ");
    }
    if (!any) return "";
    return "<figure>\n" + report::forest_plot_for_all(plot) +
           "<figcaption>Right of 1 is faster. Within the shaded band two arms are the "
           "same.</figcaption>\n</figure>\n";
}

// What the verdicts come from, pair by pair.
std::string evidence(const Comparison& comparison) {
    HtmlTable table({{"Arm"},
                     {"Times as fast [95 %]", true},
                     {"All blocks together", true},
                     {"p", true},
                     {"p among all pairs", true},
                     {"Correlation of blocks", true},
                     {"Verdict"}});
    bool any = false;
    for (const auto at : by_speed(comparison)) {
        const auto* const pair = comparison.pair_with(at);
        if (pair == nullptr) continue;
        any = true;
        const auto ratio = known(pair->speedup);
        table.row({escape(shortened(comparison.arms[at].spec.name, 100)), ratio ? ratio_cell(*ratio) : "–",
                   page_value(pair->total_speedup), page_value(pair->p, 2), page_value(pair->p_corrected, 2),
                   page_value(pair->correlation, 2), in_words(name(pair->verdict)) + why(pair->note)},
                  {no_number, pair->speedup.median, pair->total_speedup, pair->p, pair->p_corrected,
                   pair->correlation});
    }
    const std::string rounds =
        comparison.rounds > 1
            ? "Intervals are of " + std::to_string(comparison.rounds) + " starts of every arm."
            : "Every arm was started once: what differs between two starts of a program counts as the arm's.";
    return any ? table.html() +
                     note(rounds + " p among all pairs is corrected by Holm's method, and decides.")
               : "";
}

std::string speeds(const Comparison& comparison) {
    const bool writes = comparison.operation == Operation::generate;
    HtmlTable table({{"Arm"},
                     {"dtype"},
                     {"ms a " + std::string(unit_of(comparison.operation)) + " [95 %]", true},
                     {writes ? "Prompts/s" : "Samples/s", true},
                     {writes ? "New tokens/s" : "Tokens/s", true},
                     {"Peak memory", true}});
    const auto keys = differing_keys(comparison);
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        const auto step_ms = known(arm.step_ms);
        const auto if_ok = [&](const std::string& text) { return arm.ok() ? text : "–"; };
        const auto order = [&](bool known, double value) { return known ? value : no_number; };
        const auto memory = static_cast<double>(arm.peak_memory_bytes);
        table.row({name_with_notes(arm, keys, comparison.arms.size() > 1 && at == base_at(comparison)),
                   escape(arm.dtype), if_ok(step_ms ? page_interval(*step_ms) : "–"),
                   if_ok(page_value(arm.samples_per_second)), if_ok(page_value(arm.tokens_per_second)),
                   arm.peak_memory_bytes >= 0 ? bytes_text(memory) : "–"},
                  {no_number, no_number, order(arm.ok(), arm.step_ms.median),
                   order(arm.ok(), arm.samples_per_second), order(arm.ok(), arm.tokens_per_second),
                   order(arm.peak_memory_bytes >= 0, memory)});
    }
    return table.html();
}

}  // namespace

std::string speed_section(const Comparison& comparison) {
    return section("Speed", ratios(comparison) + speeds(comparison) + evidence(comparison));
}

}  // namespace switchyard::compare
