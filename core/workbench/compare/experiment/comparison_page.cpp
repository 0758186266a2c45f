#include "core/workbench/compare/experiment/comparison_page.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/kernel/base/executed_text.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_forest.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {
namespace {

using base::bytes_text;
using report::BarPlot;
using report::Curve;
using report::escape;
using report::HtmlTable;
using report::in_words;
using report::LinePlot;
using report::page_interval;
using report::page_number;
using report::Points;
using report::shortened;

constexpr std::size_t shown_arms = 12;
constexpr std::size_t curve_points = 240;

Points over_steps(const std::vector<double>& values) {
    Points points;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) points.push_back({static_cast<double>(i + 1), values[i]});
    }
    return points;
}

// The name of the base: what all pairs are over.
std::string base_of(const Comparison& comparison) {
    return comparison.pairs.empty() ? "" : comparison.arms[comparison.pairs.front().base].spec.name;
}

// The index of the base.
std::size_t base_at(const Comparison& comparison) {
    return comparison.pairs.empty() ? 0 : comparison.pairs.front().base;
}

// The fastest over the base first, the base among them; those without a ratio last, in their own order.
std::vector<std::size_t> by_speed(const Comparison& comparison) {
    std::vector<std::size_t> order(comparison.arms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto speed = [&](std::size_t arm) {
        if (arm == base_at(comparison)) return 1.0;
        const auto* const pair = comparison.pair_with(arm);
        const bool told = pair != nullptr && comparison.arms[arm].ok() && std::isfinite(pair->speedup.median);
        return told ? pair->speedup.median : -1.0;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t one, std::size_t other) { return speed(one) > speed(other); });
    return order;
}

// Of these as many as plots show, the base always.
std::vector<std::size_t> plotted(const Comparison& comparison) {
    auto order = by_speed(comparison);
    if (order.size() <= shown_arms) return order;
    const auto base = std::find(order.begin(), order.end(), base_at(comparison));
    if (base - order.begin() >= static_cast<std::ptrdiff_t>(shown_arms)) order[shown_arms - 1] = *base;
    order.resize(shown_arms);
    return order;
}

// Keys that are not set alike in all arms, in the order in which they come.
std::vector<std::string> differing_keys(const Comparison& comparison) {
    std::vector<std::string> keys;
    const auto sets = [](const ArmResult& arm, const std::string& value) {
        return std::find(arm.spec.overrides.begin(), arm.spec.overrides.end(), value) !=
               arm.spec.overrides.end();
    };
    for (const auto& arm : comparison.arms) {
        for (const auto& value : arm.spec.overrides) {
            const auto key = value.substr(0, value.find('='));
            const bool in_all = std::all_of(comparison.arms.begin(), comparison.arms.end(),
                                            [&](const ArmResult& other) { return sets(other, value); });
            if (!in_all && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
        }
    }
    return keys;
}

// "attention.backend=torch precision.backend=torch/bf16": what an arm sets of these keys.
std::string settings_of(const ArmResult& arm, const std::vector<std::string>& keys) {
    std::string text;
    for (const auto& value : arm.spec.overrides) {
        if (std::find(keys.begin(), keys.end(), value.substr(0, value.find('='))) != keys.end())
            base::add_item(text, value, " ");
    }
    return text;
}

// Who won, in one sentence.
std::string headline(const Comparison& comparison) {
    const PairResult* best = nullptr;
    std::size_t judged = 0, slower = 0;
    for (const auto& pair : comparison.pairs) {
        if (!comparison.arms[pair.arm].ok()) continue;
        ++judged;
        slower += pair.verdict == bench::SpeedVerdict::slower ? 1 : 0;
        if (pair.verdict == bench::SpeedVerdict::faster &&
            (best == nullptr || pair.speedup.median > best->speedup.median))
            best = &pair;
    }
    const auto base = shortened(base_of(comparison), 100);
    if (best != nullptr)
        return shortened(comparison.arms[best->arm].spec.name, 100) + " is " +
               page_number(best->speedup.median) + " times as fast as " + base;
    if (judged == 0) return "Comparison" + (base.empty() ? "" : " with " + base);
    return slower == judged ? base + " is the fastest" : "No arm is known to be faster than " + base;
}

// What the arms differ in, below the headline.
std::string what_differs(const Comparison& comparison) {
    std::string text;
    for (const auto& key : differing_keys(comparison))
        base::add_item(text, "<code>" + escape(shortened(key, 100)) + "</code>");
    for (const auto& arm : comparison.arms) {
        if (arm.spec.external())
            base::add_item(text, escape(shortened(arm.spec.name, 100)) + " is a program");
    }
    if (text.empty()) return "";
    return "<p>" + base::counted(comparison.arms.size(), "arm") + ", which differ in " + text + ".</p>\n";
}

std::string name_with_notes(const ArmResult& arm, const std::vector<std::string>& keys, bool is_base) {
    std::string html = escape(shortened(arm.spec.name, 100));
    if (is_base) html += " <strong>(base)</strong>";
    const auto settings = settings_of(arm, keys);
    if (settings != arm.spec.name) html += why(settings);
    if (arm.description != "switchyard") html += why(shortened(arm.description, 100));
    if (!arm.measured_before.empty())
        html += why("measured before, in " + shortened(arm.measured_before, 100) +
                    ": it took no turns with the others");
    if (!arm.ok()) html += " <span class=\"why bad\">" + escape(shortened(status_text(arm), 400)) + "</span>";
    return html;
}

std::string head(const Comparison& comparison, const ComparisonFacts& facts) {
    std::string html = "<h1>" + escape(headline(comparison)) + "</h1>\n";
    if (!facts.title.empty()) html += "<p class=\"lead\">" + escape(facts.title) + "</p>\n";
    html += what_differs(comparison);
    if (comparison.stopped) html += notice("Stopped before its end: the numbers are of what was done.");
    std::vector<const ArmOutcome*> arms;
    for (const auto& arm : comparison.arms) arms.push_back(&arm);
    html += arm_notices(arms);
    std::string list;
    for (const auto arm : by_speed(comparison)) {
        const auto* const found = comparison.pair_with(arm);
        if (found == nullptr) continue;
        const auto& pair = *found;
        const char* const css = pair.verdict == bench::SpeedVerdict::faster  ? "good"
                                : pair.verdict == bench::SpeedVerdict::wrong ? "bad"
                                                                             : "";
        list += "<li class=\"" + std::string(css) + "\">" +
                escape(shortened(sentence(comparison, pair), 400)) + "</li>\n";
    }
    return html + (list.empty() ? "" : "<ul>\n" + list + "</ul>\n");
}

std::string ratios(const Comparison& comparison) {
    report::ForestPlot plot{
        "Speed over " + base_of(comparison), "", "times as fast as the base [95 %]", 0.02, {}};
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
            {arm, page_interval(*ratio) + "  " + in_words(name(pair->verdict)), *ratio, hue_of(at)});
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
        table.row({escape(shortened(comparison.arms[at].spec.name, 100)), ratio ? page_interval(*ratio) : "–",
                   page_value(pair->total_speedup), page_value(pair->p, 2), page_value(pair->p_corrected, 2),
                   page_value(pair->correlation, 2), in_words(name(pair->verdict)) + why(pair->note)});
    }
    const std::string rounds =
        comparison.rounds > 1
            ? "Intervals are of " + std::to_string(comparison.rounds) + " starts of every arm."
            : "Every arm was started once: what differs between two starts of a program counts as the arm's.";
    return any ? table.html() +
                     note(rounds + " p among all pairs is corrected by Holm's method, and decides.")
               : "";
}

double peak_bytes(const ArmResult& arm) { return static_cast<double>(arm.peak_memory_bytes); }

std::string speeds(const Comparison& comparison) {
    HtmlTable table({{"Arm"},
                     {"dtype"},
                     {"ms a " + std::string(unit_of(comparison.operation)) + " [95 %]", true},
                     {"Samples/s", true},
                     {"Tokens/s", true},
                     {"Peak memory", true}});
    const auto keys = differing_keys(comparison);
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        const auto step_ms = known(arm.step_ms);
        const auto if_ok = [&](const std::string& text) { return arm.ok() ? text : "–"; };
        table.row({name_with_notes(arm, keys, comparison.arms.size() > 1 && at == base_at(comparison)),
                   escape(arm.dtype), if_ok(step_ms ? page_interval(*step_ms) : "–"),
                   if_ok(page_value(arm.samples_per_second)), if_ok(page_value(arm.tokens_per_second)),
                   arm.peak_memory_bytes >= 0 ? bytes_text(peak_bytes(arm)) : "–"});
    }
    return table.html();
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
            if (sure) row[2] = page_interval({loss->difference, loss->low, loss->high});
            row[3] = in_words(name(loss->verdict)) + why(loss->reason);
        }
        table.row(row);
    }
    const auto& margin = *comparison.margin;
    return "<h3>Final losses after " + page_number(static_cast<double>(comparison.loss_steps), 1) +
           " steps, within " +
           (margin.relative ? page_number(margin.size * 100.0) + " %" : page_number(margin.size)) + " of " +
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

std::string losses(const Comparison& comparison) {
    std::vector<Curve> apart, timed, seeds;
    const auto base = base_at(comparison);
    for (const auto arm : plotted(comparison)) {
        const auto& result = comparison.arms[arm];
        const auto add = [&](std::vector<Curve>& curves, const Points& points) {
            if (points.size() > 1) curves.push_back(curve_of(comparison, arm, points));
        };
        if (arm != base) add(apart, differences(result.losses, comparison.arms[base].losses));
        add(timed, over_steps(result.losses));
        if (!result.seed_losses.empty()) add(seeds, over_steps(result.seed_losses.front()));
    }
    return loss_figure(
               "Above 0 an arm has the higher loss: the timed run from equal weights, the same batches in "
               "the "
               "same order.",
               apart, "loss less that of " + shortened(base_of(comparison), 60)) +
           loss_figure("The losses themselves, of the same steps.", timed) +
           loss_figure("Trained to the end, the first seed.", seeds) + final_losses(comparison);
}

std::string stability(const Comparison& comparison) {
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
    return table.html() + note("Loss drift: of the mean loss over the last tenth of the steps from that of " +
                               base_of(comparison) + " over the same steps.");
}

std::string memory(const Comparison& comparison) {
    BarPlot plot{"Peak memory", "", "", {}};
    double largest = 0.0;
    for (const auto& arm : comparison.arms) largest = std::max(largest, peak_bytes(arm));
    const double unit = largest >= 1e9 ? 1e9 : largest >= 1e6 ? 1e6 : 1e3;
    plot.x_label = std::string("live tensor bytes at their most, ") + (unit == 1e9   ? "GB"
                                                                       : unit == 1e6 ? "MB"
                                                                                     : "kB");
    for (const auto arm : plotted(comparison)) {
        const auto& result = comparison.arms[arm];
        if (result.peak_memory_bytes < 0) continue;
        const double size = peak_bytes(result) / unit;
        plot.bars.push_back({result.spec.name, bytes_text(peak_bytes(result)),
                             base::Interval{size, size, size}, hue_of(arm)});
        base::add_item(plot.description, result.spec.name + ": " + plot.bars.back().label, "; ");
    }
    return plot.bars.empty() ? "" : "<figure>\n" + report::bar_plot_for_all(plot) + "</figure>\n";
}

std::string blocks(const Comparison& comparison) {
    LinePlot plot{"Time of every block",
                  "One point for each arm and block.",
                  "ms a " + std::string(unit_of(comparison.operation)),
                  {},
                  true,
                  "block"};
    int outliers = 0;
    for (const auto arm : plotted(comparison)) {
        const auto& result = comparison.arms[arm];
        Points points;
        for (std::size_t i = 0; i < result.blocks.size(); ++i) {
            const auto& block = result.blocks[i];
            if (!block || block->repeated || !std::isfinite(block->sample.ms)) continue;
            if (block->sample.outlier)
                ++outliers;
            else
                points.push_back({static_cast<double>(i + 1), block->sample.ms});
        }
        if (!points.empty())
            plot.curves.push_back({result.spec.name, hue_of(arm), Curve::Look::points, points});
    }
    if (plot.curves.empty()) return "";
    const auto& of_base = comparison.arms[base_at(comparison)].blocks;
    for (std::size_t i = 1; i < of_base.size(); ++i) {
        if (of_base[i] && of_base[i - 1] && of_base[i]->round != of_base[i - 1]->round)
            plot.breaks.push_back(static_cast<double>(i) + 0.5);
    }
    std::string caption = comparison.operation == Operation::step
                              ? "In each block every arm trained on the same batches"
                              : "In each block every arm passed over the same samples";
    caption += ", in an order drawn anew.";
    if (comparison.rounds > 1)
        caption += " Every arm was started anew " + std::to_string(comparison.rounds - 1) +
                   " times on the way, at the vertical lines.";
    if (outliers > 0) caption += " Left out: " + std::to_string(outliers) + " samples that were outliers.";
    return "<figure>\n" + report::legend(plot.curves) + report::line_plot_for_all(plot) + "<figcaption>" +
           escape(caption) + "</figcaption>\n</figure>\n";
}

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
    const bool steps = comparison.operation == Operation::step;
    return any ? note("Relative distance of the " +
                      std::string(steps ? "first step" : "first samples' outputs") + " from " +
                      (steps ? "that of " : "those of ") + base_of(comparison) +
                      ": equal weights, the same " + (steps ? "batches" : "samples") + ", dropout off.") +
                     table.html()
               : "";
}

std::string what_ran(const Comparison& comparison) {
    HtmlTable table({{"Arm"}, {"What ran, counted"}});
    bool any = false;
    for (const auto at : by_speed(comparison)) {
        const auto& arm = comparison.arms[at];
        const auto ran = base::executed_text(arm.executed, called(comparison));
        if (ran.empty() && arm.description.empty()) continue;
        any = true;
        table.row({escape(arm.spec.name), escape(shortened(ran.empty() ? arm.description : ran, 600))});
    }
    return any ? table.html() : "";
}

std::string how(const Comparison& comparison, const ComparisonFacts& facts) {
    const std::string units(units_of(comparison.operation));
    std::vector<report::Fact> list{
        {"Configuration", facts.config},
        {"Its fingerprint", facts.config_fingerprint},
        {"Blocks", std::to_string(comparison.blocks)},
        {"In rounds, each of new processes", std::to_string(comparison.rounds)},
        {"Blocks repeated, for other programs had a processor", std::to_string(comparison.repeated_blocks)},
        {"Operation", std::string(name(comparison.operation))},
        {"Timed " + units + " in a block", std::to_string(comparison.steps_per_block)},
        {"Of these " + units + " before, not timed", std::to_string(comparison.lead_in)},
        {"Of these " + units + " to warm up", std::to_string(comparison.warm_up_steps)},
        {"Seed of the order", std::to_string(comparison.seed)}};
    list.insert(list.end(), facts.host.begin(), facts.host.end());
    return facts_table(list, facts.command);
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const ComparisonFacts& facts) {
    std::string body = head(comparison, facts);
    body += section("Speed", ratios(comparison) + speeds(comparison) + evidence(comparison));
    if (comparison.operation == Operation::step) {
        body += section("Loss", losses(comparison));
        body += section("Stability", stability(comparison));
    }
    body += section("Memory", memory(comparison));
    body += section("Blocks", blocks(comparison));
    body +=
        section(comparison.operation == Operation::step ? "First step" : "First samples", drift(comparison));
    body += section("What ran", what_ran(comparison));
    body += section("How", how(comparison, facts));
    if (comparison.arms.size() > shown_arms)
        body += note("Plots show the fastest " + std::to_string(shown_arms) + " of " +
                     std::to_string(comparison.arms.size()) + " arms, the base always among them.");
    return report::page(headline(comparison), body);
}

}  // namespace switchyard::compare
