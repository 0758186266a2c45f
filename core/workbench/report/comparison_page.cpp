#include "core/workbench/report/comparison_page.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernel/base/joined.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_forest.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {
namespace {

constexpr std::size_t shown_arms = 12;
constexpr std::size_t curve_points = 400;

constexpr Hue hues[] = {Hue::a, Hue::b, Hue::c, Hue::d, Hue::e, Hue::f, Hue::g, Hue::h};

Hue hue_of(std::size_t arm) { return hues[arm % std::size(hues)]; }

std::string number(const std::optional<double>& value, int significant = 3) {
    return value ? page_number(*value, significant) : "–";
}

std::string section(const std::string& title, const std::string& body) {
    return body.empty() ? "" : "<section>\n<h2>" + escape(title) + "</h2>\n" + body + "</section>\n";
}

std::string note(const std::string& text) { return "<p class=\"muted\">" + escape(text) + "</p>\n"; }

// The name of the base: what all pairs are over.
std::string base_of(const ComparisonRecord& comparison) {
    return comparison.pairs.empty() ? "" : comparison.pairs.front().base;
}

std::string name_with_notes(const ArmRecord& arm) {
    std::string html = escape(shortened(arm.name, 100));
    if (!arm.what.empty() && arm.what != "switchyard")
        html.append(" <span class=\"why\">").append(escape(shortened(arm.what, 100))).append("</span>");
    if (!arm.ok) {
        html.append(" <span class=\"why bad\">")
            .append(escape(shortened(arm.status + ": " + arm.reason, 400)))
            .append("</span>");
    }
    return html;
}

std::string head(const ComparisonRecord& comparison) {
    std::string title;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, comparison.arms.size()); ++i)
        base::add_item(title, comparison.arms[i].name);
    if (comparison.arms.size() > 3) title += " and " + std::to_string(comparison.arms.size() - 3) + " more";
    std::string html = "<h1>" + escape(shortened(title, 160)) + "</h1>\n";
    if (!comparison.title.empty()) html += "<p class=\"lead\">" + escape(comparison.title) + "</p>\n";
    if (comparison.stopped)
        html += "<p class=\"notice\">Stopped before its end: the numbers are of what was done.</p>\n";
    for (const auto& arm : comparison.arms) {
        for (const auto& key : arm.differs)
            html += "<p class=\"notice\">No fair comparison, it was forced: " +
                    escape(arm.name + " differs in " + key) + "</p>\n";
    }
    for (const auto& arm : comparison.arms) {
        if (!arm.ok)
            html += "<p class=\"notice\">" +
                    escape(shortened(arm.name + ": " + arm.status + ": " + arm.reason, 1500)) + "</p>\n";
    }
    std::string list;
    for (const auto& pair : comparison.pairs) {
        const char* const css = pair.verdict == "FASTER" ? "good" : pair.verdict == "WRONG" ? "bad" : "";
        list += "<li class=\"" + std::string(css) + "\">" + escape(shortened(pair.sentence, 400)) + "</li>\n";
    }
    return html + (list.empty() ? "" : "<ul>\n" + list + "</ul>\n");
}

std::string ratios(const ComparisonRecord& comparison) {
    ForestPlot plot{"Speed over " + base_of(comparison),
                    "",
                    "times as fast as " + base_of(comparison) + ", median and 95 % interval",
                    0.02,
                    {}};
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto& pair : comparison.pairs) {
        if (plot.rows.size() == shown_arms) break;
        if (pair.speedup || pair.verdict.empty()) {
            const auto arm = std::find_if(comparison.arms.begin(), comparison.arms.end(),
                                          [&](const ArmRecord& one) { return one.name == pair.arm; });
            const auto ratio = pair.speedup.value_or(Interval{nan, nan, nan});
            auto verdict = pair.verdict;
            std::replace(verdict.begin(), verdict.end(), '_', ' ');
            plot.rows.push_back({pair.arm, page_interval(ratio) + "  " + verdict, ratio,
                                 hue_of(static_cast<std::size_t>(arm - comparison.arms.begin()))});
            base::add_item(plot.description, pair.arm + ": " + plot.rows.back().label, "; ");
        }
    }
    if (plot.rows.empty()) return "";
    return "<figure>\n" + forest_plot_for_all(plot) +
           "<figcaption>Right of 1 is faster. Within the shaded band two arms are the "
           "same.</figcaption>\n</figure>\n";
}

std::string speeds(const ComparisonRecord& comparison) {
    HtmlTable table({{"Arm"},
                     {"dtype"},
                     {"ms a step [95 %]", true},
                     {"Samples/s", true},
                     {"Tokens/s", true},
                     {"Peak memory", true}});
    for (const auto& arm : comparison.arms) {
        table.row({name_with_notes(arm), escape(arm.dtype), arm.step_ms ? page_interval(*arm.step_ms) : "–",
                   number(arm.samples_per_second), number(arm.tokens_per_second),
                   arm.peak_bytes ? bytes_text(*arm.peak_bytes) : "–"});
    }
    return table.html();
}

LinePlot loss_plot(const std::string& title, const std::vector<Curve>& curves) {
    LinePlot plot{title, "", "loss", curves, false};
    for (const auto& curve : curves) {
        if (curve.points.empty()) continue;
        base::add_item(plot.description,
                       curve.name + ": from " + page_number(curve.points.front().y) + " to " +
                           page_number(curve.points.back().y),
                       "; ");
    }
    return plot;
}

std::string loss_figure(const std::string& caption, const std::vector<Curve>& curves) {
    if (curves.empty()) return "";
    return "<figure>\n" + legend(curves) + line_plot_for_all(loss_plot("Loss", curves)) + "<figcaption>" +
           escape(caption) + "</figcaption>\n</figure>\n";
}

Curve curve_of(const ComparisonRecord& comparison, std::size_t arm, const Points& points) {
    const auto smooth = smoothing_reach(points.size()) > 0 ? smoothed(points) : points;
    return {comparison.arms[arm].name, hue_of(arm), Curve::Look::line, thinned(smooth, curve_points),
            arm % 2 == 1};  // curves that lie on each other are both seen
}

std::string final_losses(const ComparisonRecord& comparison) {
    if (comparison.margin.empty()) return "";
    HtmlTable table(
        {{"Arm"}, {"Final losses by seed"}, {"Difference from the base [90 %]", true}, {"Verdict"}});
    for (const auto& pair : comparison.pairs) {
        std::string losses;
        for (const auto& arm : comparison.arms) {
            if (arm.name != pair.arm) continue;
            for (const double loss : arm.final_losses) base::add_item(losses, page_number(loss, 4));
        }
        auto verdict = pair.loss_verdict;
        std::replace(verdict.begin(), verdict.end(), '_', ' ');
        const std::string interval =
            pair.loss_difference && pair.loss_low && pair.loss_high
                ? page_interval({*pair.loss_difference, *pair.loss_low, *pair.loss_high})
                : "–";
        table.row({escape(pair.arm), shortened(losses, 300), interval,
                   escape(verdict) + (pair.loss_reason.empty()
                                          ? ""
                                          : " <span class=\"why\">" + escape(pair.loss_reason) + "</span>")});
    }
    return "<h3>Final losses after " + page_number(comparison.loss_steps, 1) + " steps, within " +
           escape(comparison.margin) + " of " + escape(base_of(comparison)) + "?</h3>\n" + table.html() +
           note("Two one-sided t-tests, paired by seed (Schuirmann 1987); the margin was set before.");
}

std::string losses(const ComparisonRecord& comparison) {
    std::vector<Curve> timed, seeds;
    for (std::size_t arm = 0; arm < std::min(comparison.arms.size(), shown_arms); ++arm) {
        const auto& record = comparison.arms[arm];
        if (record.losses.size() > 1) timed.push_back(curve_of(comparison, arm, record.losses));
        if (!record.seed_losses.empty() && record.seed_losses.front().size() > 1)
            seeds.push_back(curve_of(comparison, arm, record.seed_losses.front()));
    }
    return loss_figure("The timed run from equal weights: the same batches in the same order.", timed) +
           loss_figure("Trained to the end, the first seed.", seeds) + final_losses(comparison);
}

std::string stability(const ComparisonRecord& comparison) {
    HtmlTable table({{"Arm"}, {"Loss drift", true}, {"Skipped steps", true}, {"Stable"}});
    bool any = false;
    for (const auto& arm : comparison.arms) {
        any = any || arm.judged;
        const std::string answer = !arm.stable ? "–" : *arm.stable ? "yes" : "<span class=\"bad\">no</span>";
        const std::string drift = arm.loss_drift ? (*arm.loss_drift > 0.0 ? "+" : "") +
                                                       page_number(100.0 * *arm.loss_drift, 2) + " %"
                                                 : "–";
        table.row({escape(arm.name), drift, number(arm.skipped_steps, 1),
                   answer + (arm.stability_reason.empty()
                                 ? ""
                                 : " <span class=\"why\">" + escape(shortened(arm.stability_reason, 400)) +
                                       "</span>")});
    }
    return any ? table.html() +
                     note("Loss drift: of the mean loss over the last tenth of the steps from that of " +
                          base_of(comparison) + " over the same steps.")
               : "";
}

std::string memory(const ComparisonRecord& comparison) {
    BarPlot plot{"Peak memory", "", "", {}};
    double largest = 0.0;
    for (const auto& arm : comparison.arms) largest = std::max(largest, arm.peak_bytes.value_or(0.0));
    const double unit = largest >= 1e9 ? 1e9 : largest >= 1e6 ? 1e6 : 1e3;
    plot.x_label = std::string("live tensor bytes at their most, ") + (unit == 1e9   ? "GB"
                                                                       : unit == 1e6 ? "MB"
                                                                                     : "kB");
    for (std::size_t arm = 0; arm < std::min(comparison.arms.size(), shown_arms); ++arm) {
        const auto& record = comparison.arms[arm];
        if (!record.peak_bytes) continue;
        const double size = *record.peak_bytes / unit;
        plot.bars.push_back(
            {record.name, bytes_text(*record.peak_bytes), Interval{size, size, size}, hue_of(arm)});
        base::add_item(plot.description, record.name + ": " + plot.bars.back().label, "; ");
    }
    return plot.bars.empty() ? "" : "<figure>\n" + bar_plot_for_all(plot) + "</figure>\n";
}

std::string blocks(const ComparisonRecord& comparison) {
    LinePlot plot{"Time of every block", "One point for each arm and block.", "ms a step", {}, true, "block"};
    std::size_t outliers = 0;
    for (std::size_t arm = 0; arm < std::min(comparison.arms.size(), shown_arms); ++arm) {
        const auto& record = comparison.arms[arm];
        outliers += record.outliers.size();
        if (!record.blocks.empty())
            plot.curves.push_back({record.name, hue_of(arm), Curve::Look::points, record.blocks});
    }
    if (plot.curves.empty()) return "";
    std::string caption = "In each block every arm trained on the same batches, in an order drawn anew.";
    if (outliers > 0) caption += " Left out: " + std::to_string(outliers) + " samples that were outliers.";
    return "<figure>\n" + legend(plot.curves) + line_plot_for_all(plot) + "<figcaption>" + escape(caption) +
           "</figcaption>\n</figure>\n";
}

std::string drift(const ComparisonRecord& comparison) {
    HtmlTable table({{"Arm"},
                     {"Loss", true},
                     {"Outputs", true},
                     {"Gradients", true},
                     {"Rounding explains (outputs, gradients)", true}});
    bool any = false;
    for (const auto& arm : comparison.arms) {
        if (!arm.drift_loss && !arm.drift_output) continue;
        any = true;
        table.row({escape(arm.name), number(arm.drift_loss, 2), number(arm.drift_output, 2),
                   number(arm.drift_gradient, 2),
                   number(arm.allowed_output, 2) + ", " + number(arm.allowed_gradient, 2)});
    }
    return any ? note("Relative distance of the first step from that of " + base_of(comparison) +
                      ": equal weights, the same batches, dropout off.") +
                     table.html()
               : "";
}

std::string what_ran(const ComparisonRecord& comparison) {
    HtmlTable table({{"Arm"}, {"What ran, counted"}});
    bool any = false;
    for (const auto& arm : comparison.arms) {
        if (arm.ran.empty() && arm.what.empty()) continue;
        any = true;
        table.row({escape(arm.name), escape(shortened(arm.ran.empty() ? arm.what : arm.ran, 600))});
    }
    return any ? table.html() : "";
}

std::string facts(const ComparisonRecord& comparison) {
    std::string rows;
    const auto add = [&](const std::string& name, const std::string& value) {
        if (!value.empty())
            rows += "<tr><th>" + escape(name) + "</th><td>" + escape(shortened(value, 300)) + "</td></tr>\n";
    };
    add("Configuration", comparison.config);
    add("Its fingerprint", comparison.config_fingerprint);
    add("Blocks", comparison.blocks);
    add("Timed steps in a block", comparison.steps_per_block);
    add("Steps before them, not timed", comparison.lead_in_steps);
    add("Steps of warm-up", comparison.warm_up_steps);
    add("Seed of the order", comparison.seed);
    for (const auto& [name, value] : comparison.host) add(name, value);
    if (!comparison.command.empty())
        rows += "<tr><th>Command</th><td><code>" + escape(shortened(comparison.command, 1500)) +
                "</code></td></tr>\n";
    return rows.empty() ? "" : "<table class=\"facts\">\n" + rows + "</table>\n";
}

}  // namespace

std::string comparison_page(const ComparisonRecord& comparison) {
    std::string body = head(comparison);
    body += section("Speed", ratios(comparison) + speeds(comparison));
    body += section("Loss", losses(comparison));
    body += section("Stability", stability(comparison));
    body += section("Memory", memory(comparison));
    body += section("Blocks", blocks(comparison));
    body += section("First step", drift(comparison));
    body += section("What ran", what_ran(comparison));
    body += section("How", facts(comparison));
    if (comparison.arms.size() > shown_arms)
        body += note("Plots show the first " + std::to_string(shown_arms) + " of " +
                     std::to_string(comparison.arms.size()) + " arms.");
    return page("Comparison: " + base_of(comparison), body);
}

}  // namespace switchyard::report
