#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {
namespace {

using report::Curve;
using report::escape;
using report::HtmlTable;
using report::in_words;
using report::LinePlot;
using report::page_interval;
using report::page_number;
using report::Points;
using report::shortened;

constexpr std::size_t curve_points = 240;

Points over_steps(const std::vector<double>& values) {
    Points points;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) points.push_back({static_cast<double>(i + 1), values[i]});
    }
    return points;
}

LinePlot loss_plot(const std::string& title, const std::vector<Curve>& curves) {
    LinePlot plot{title, "", title, curves, false};
    for (const auto& curve : curves) {
        if (curve.points.empty()) continue;
        base::add_item(plot.description,
                       curve.name + ": from " + page_number(curve.points.front().y) + " to " +
                           page_number(curve.points.back().y),
                       "; ");
    }
    return plot;
}

std::string loss_figure(const std::string& caption, const std::vector<Curve>& curves,
                        const std::string& title = "loss") {
    if (curves.empty()) return "";
    return "<figure>\n" + report::legend(curves) + report::line_plot_for_all(loss_plot(title, curves)) +
           "<figcaption>" + escape(caption) + "</figcaption>\n</figure>\n";
}

Curve curve_of(const Comparison& comparison, std::size_t arm, const Points& points) {
    const auto smooth = report::smoothing_reach(points.size()) > 0 ? report::smoothed(points) : points;
    return {comparison.arms[arm].spec.name, hue_of(arm), Curve::Look::line,
            report::thinned(smooth, curve_points),
            arm % 2 == 1};  // curves that lie on each other are both seen
}

std::string final_losses(const Comparison& comparison) {
    if (!comparison.margin) return "";
    HtmlTable table(
        {{"Arm"}, {"Final losses by seed"}, {"Difference from the base [90 %]", true}, {"Verdict"}});
    for (const auto& pair : comparison.pairs) {
        const auto& arm = comparison.arms[pair.arm];
        std::string losses;
        for (const double loss : arm.final_losses) {
            if (std::isfinite(loss)) base::add_item(losses, page_number(loss, 4));
        }
        std::vector<std::string> row{escape(arm.spec.name), shortened(losses, 300), "–", ""};
        if (const auto& loss = pair.loss) {
            const bool sure =
                std::isfinite(loss->difference) && std::isfinite(loss->low) && std::isfinite(loss->high);
            const auto& by = *comparison.margin;
            if (sure)
                row[2] =
                    page_interval({by.shown(loss->difference), by.shown(loss->low), by.shown(loss->high)}) +
                    by.unit();
            row[3] = in_words(name(loss->verdict)) + why(loss->reason);
        }
        table.row(row);
    }
    const auto& margin = *comparison.margin;
    return "<h3>Final losses after " + page_number(static_cast<double>(comparison.loss_steps), 1) +
           " steps, within " + page_number(margin.shown(margin.size)) + margin.unit() + " of " +
           escape(base_of(comparison)) + "?</h3>\n" + table.html() +
           note("Two one-sided t-tests, paired by seed (Schuirmann 1987); the margin was set before.");
}

// Of equal steps; where one of the two is not finite there is none.
Points differences(const std::vector<double>& losses, const std::vector<double>& base) {
    std::vector<double> values;
    for (std::size_t i = 0; i < std::min(losses.size(), base.size()); ++i)
        values.push_back(losses[i] - base[i]);
    return over_steps(values);
}

}  // namespace

std::string loss_section(const Comparison& comparison) {
    std::vector<Curve> apart, timed, seeds;
    const auto base = base_at(comparison);
    for (const auto arm : plotted(comparison)) {
        const auto& result = comparison.arms[arm];
        const auto add = [&](std::vector<Curve>& curves, const Points& points) {
            if (points.size() > 1) curves.push_back(curve_of(comparison, arm, points));
        };
        if (arm != base && !result.spec.own_batches)
            add(apart, differences(result.losses, comparison.arms[base].losses));
        add(timed, over_steps(result.losses));
        if (!result.seed_losses.empty()) add(seeds, over_steps(result.seed_losses.front()));
    }
    const bool smooth = report::smoothing_reach(over_steps(comparison.arms[base].losses).size()) > 0;
    const std::string means = smooth ? " Each point is a mean over neighbouring steps." : "";
    const auto own = of_own_batches(comparison);
    const auto others =
        own.empty() ? "" : " Steps of other samples than the base's: " + shortened(own, 200) + ".";
    return section(
        "Loss",
        loss_figure("Above 0 an arm has the higher loss: the timed run from equal weights, the same batches "
                    "in the same order." +
                        means,
                    apart, "loss less that of " + shortened(base_of(comparison), 60)) +
            loss_figure("The losses of the timed steps." + others + means, timed) +
            loss_figure("Trained to the end, the first seed.", seeds) + final_losses(comparison));
}

}  // namespace switchyard::compare
