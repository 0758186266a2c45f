#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>

#include "core/kernel/base/joined.h"
#include "core/workbench/compare/experiment/effects.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_forest.h"

namespace switchyard::compare {
namespace {

using report::Curve;
using report::escape;
using report::Hue;
using report::shortened;

constexpr std::size_t shown_effects = 24;  // in the plot; the table has all

constexpr Hue hue_of_kind(EffectKind kind) {
    constexpr Hue hues[] = {Hue::a, Hue::e, Hue::c, Hue::b};
    return hues[static_cast<std::size_t>(kind)];
}

// What is drawn: those that are told apart by their kinds' colors, the first of them where there are many.
std::string plot_of(const std::vector<Effect>& effects) {
    report::ForestPlot plot{"Effects of the factors", "", "times as fast [95 %]", bench::same_margin, {}};
    std::vector<Curve> kinds;
    for (const auto kind :
         {EffectKind::alone, EffectKind::average, EffectKind::together, EffectKind::interaction}) {
        if (std::any_of(effects.begin(), effects.end(), [&](const Effect& one) { return one.kind == kind; }))
            kinds.push_back({std::string(name(kind)), hue_of_kind(kind), Curve::Look::points, {}});
    }
    for (const auto& effect : effects) {
        const auto ratio = known(effect.estimate.ratio);
        if (!ratio || plot.rows.size() == shown_effects) continue;
        plot.rows.push_back({effect.change, std::string(name(effect.kind)) + " " + effect_text(*ratio),
                             *ratio, hue_of_kind(effect.kind)});
        base::add_item(plot.description, effect.change + ": " + plot.rows.back().label, "; ");
    }
    if (plot.rows.empty()) return "";
    return "<figure>\n" + report::legend(kinds) + report::forest_plot_for_all(plot) +
           "<figcaption>Right of 1 is faster; of an interaction, that several together give more than the "
           "product of what each gives alone. Within the shaded band there is no effect to speak of."
           "</figcaption>\n</figure>\n";
}

std::string table_of(const std::vector<Effect>& effects) {
    report::HtmlTable table({{"Change"}, {"Effect"}, {"Makes faster by [95 %]", true}, {"p", true}});
    for (const auto& effect : effects) {
        const auto ratio = known(effect.estimate.ratio);
        table.row({escape(shortened(effect.change, 200)), std::string(name(effect.kind)),
                   ratio ? effect_text(*ratio) : "–", page_value(effect.estimate.p, 2)});
    }
    return table.html();
}

}  // namespace

std::string effects_section(const Comparison& comparison) {
    const auto effects = effects_of(comparison);
    if (effects.empty()) return "";
    std::string body = plot_of(effects) + table_of(effects);
    if (effects.size() > shown_effects)
        body += note("The plot shows the first " + std::to_string(shown_effects) + " of " +
                     std::to_string(effects.size()) + " effects.");
    return section("Effects",
                   body + note("Alone and together: against the first value of every factor. "
                               "Average: over all combinations of the others. They are many, and p "
                               "is not corrected for that."));
}

}  // namespace switchyard::compare
