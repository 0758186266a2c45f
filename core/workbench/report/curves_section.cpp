// The loss, and what belongs to its course.
#include <algorithm>

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {
namespace {

std::string step_text(const Point& point) {
    return page_number(point.y) + " at step " + page_number(point.x, 1);
}

std::string course(const std::string& name, const Points& points) {
    if (points.empty()) return "";
    if (points.size() == 1) return name + ": " + step_text(points.front()) + ". ";
    const auto [low, high] = std::minmax_element(points.begin(), points.end(),
                                                 [](const Point& a, const Point& b) { return a.y < b.y; });
    return name + ": from " + step_text(points.front()) + " to " + step_text(points.back()) + ", lowest " +
           step_text(*low) + ", highest " + step_text(*high) + ". ";
}

std::string loss_figure(const Metrics& metrics) {
    const auto& loss = metrics.curve("loss");
    const auto& eval = metrics.curve("eval_loss");
    if (loss.empty() && eval.empty()) return "";
    LinePlot plot{"Loss", course("Training loss", loss) + course("Evaluation loss", eval), "loss", {}, false};
    const auto reach = smoothing_reach(loss.size());
    if (reach > 0) {
        plot.curves.push_back({"training, each logged step", Hue::a, Curve::Look::faint, loss});
        plot.curves.push_back({"training, smoothed over ±" + std::to_string(2 * reach) + " logged steps",
                               Hue::a, Curve::Look::line, smoothed(loss)});
    } else if (!loss.empty()) {
        plot.curves.push_back({"training, each logged step", Hue::a, Curve::Look::line, loss});
    }
    if (!eval.empty()) plot.curves.push_back({"evaluation", Hue::b, Curve::Look::dots, eval});
    return "<figure>\n" + legend(plot.curves) + line_plot_for_all(plot) + "</figure>\n";
}

std::string small_figure(const std::string& title, const std::string& unit, const Points& points, Hue hue,
                         Curve::Look look, bool from_zero) {
    if (points.size() < 2) return "";
    const LinePlot plot{title, course(title, points), unit, {{title, hue, look, points}}, from_zero};
    return "<figure>\n<h3>" + escape(title) + "</h3>\n" + line_plot(plot, {380.0, 200.0, ""}) + "</figure>\n";
}

Points in_units(Points points, double unit) {
    for (auto& point : points) point.y /= unit;
    return points;
}

}  // namespace

std::string curves_section(const RunRecord& run) {
    if (!run.metrics || run.metrics->lines == 0) return "";
    const auto& metrics = *run.metrics;
    using Look = Curve::Look;
    const std::string small =
        small_figure("Evaluation accuracy", "share that is right", metrics.curve("eval_accuracy"), Hue::b,
                     Look::dots, false) +
        small_figure("F1, mean of the labels", "of 1", metrics.curve("eval_macro_f1"), Hue::c, Look::dots,
                     false) +
        small_figure("Perplexity", "of a token, held out", metrics.curve("eval_perplexity"), Hue::b,
                     Look::dots, false) +
        small_figure("Learning rate", "per step", metrics.curve("lr"), Hue::c, Look::line, true) +
        small_figure("Gradient norm", "before clipping", metrics.curve("grad_norm"), Hue::d, Look::line,
                     true) +
        small_figure("Speed", "samples per second", metrics.curve("samples_per_second"), Hue::a, Look::line,
                     true) +
        small_figure("Tokens", "per second, padding left out", metrics.curve("tokens_per_second"), Hue::b,
                     Look::line, true) +
        small_figure("Model FLOPs utilization", "share of the measured peak", metrics.curve("mfu"), Hue::a,
                     Look::line, true) +
        small_figure("Peak memory", "MB of tensors, so far in this process",
                     in_units(metrics.curve("peak_memory_bytes"), 1e6), Hue::c, Look::line, true) +
        small_figure("Padding", "share of a batch", metrics.curve("padding_share"), Hue::c, Look::line,
                     true) +
        small_figure("Wait for data", "ms before a step", metrics.curve("wait_ms"), Hue::d, Look::line, true);
    const auto loss = loss_figure(metrics);
    if (loss.empty() && small.empty()) return "";
    return "<section>\n<h2>Loss</h2>\n" + loss +
           (small.empty() ? "" : "<div class=\"small-plots\">\n" + small + "</div>\n") + "</section>\n";
}

}  // namespace switchyard::report
