#include "core/workbench/report/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_frame.h"
#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {
namespace {

Frame frame_of(const LinePlot& plot, const Canvas& canvas) {
    double last = plot.steps ? 1.0 : 0.0, low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& curve : plot.curves) {
        for (const auto& point : curve.points) {
            last = std::max(last, point.x);
            low = std::min(low, point.y);
            high = std::max(high, point.y);
        }
    }
    if (!(low <= high)) low = 0.0, high = 1.0;
    if (plot.from_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
    const int ticks = ticks_across(canvas);
    return frame_around(plot.steps ? axis_of_steps(last, ticks) : axis_around(0.0, last, ticks),
                        axis_around(low, high, ticks_up(canvas)), canvas);
}

std::string dashes(const Curve& curve) { return curve.dashed ? " stroke-dasharray=\"7 4\"" : ""; }

// What one x is called, and how many digits of it are told.
struct Unit {
    std::string name;
    int digits;
};

std::string dots_of(const Curve& curve, const Points& points, const Frame& frame, double radius,
                    const Unit& unit) {
    std::string svg;
    for (const auto& point : points) {
        svg += "<circle cx=\"" + px(frame.at_x(point.x)) + "\" cy=\"" + px(frame.at_y(point.y)) + "\" r=\"" +
               px(radius) + "\" class=\"dot fill-" + static_cast<char>(curve.hue) + "\"><title>" +
               escape(curve.name + ", " + unit.name + " " + page_number(point.x, unit.digits) + ": " +
                      page_number(point.y, 4)) +
               "</title></circle>\n";
    }
    return svg;
}

std::string curve_of(const Curve& curve, const Frame& frame, std::size_t limit, const Unit& unit) {
    const bool dots = curve.look == Curve::Look::dots;
    if (curve.look == Curve::Look::points)
        return dots_of(curve, thinned(curve.points, limit / 4), frame, 4.0, unit);
    const auto points = thinned(curve.points, dots ? limit / 8 : limit);
    if (points.size() == 1) return dots_of(curve, points, frame, 4.0, unit);
    std::string svg = "<polyline class=\"line stroke-" + std::string(1, static_cast<char>(curve.hue)) +
                      (curve.look == Curve::Look::faint ? " faint" : "") + "\"" + dashes(curve) +
                      " points=\"";
    for (const auto& point : points) {
        svg += px(frame.at_x(point.x)) + ',' + px(frame.at_y(point.y)) + ' ';
    }
    if (svg.ends_with(' ')) svg.pop_back();
    svg += "\"/>\n";
    return dots ? svg + dots_of(curve, points, frame, 4.5, unit) : svg;
}

std::string rectangle(const Frame& frame, double from, double to, double y, Hue hue,
                      const std::string& inside) {
    return "<rect x=\"" + px(frame.at_x(from)) + "\" y=\"" + px(y) + "\" width=\"" +
           px(std::max(0.0, frame.at_x(to) - frame.at_x(from))) + "\" height=\"16\" class=\"bar fill-" +
           static_cast<char>(hue) + (inside.empty() ? "\"/>\n" : "\">" + inside + "</rect>\n");
}

// The row of one bar: its texts above it.
std::string bar_of(const BarPlot::Bar& bar, const Frame& frame, double top, bool two_lines) {
    const double room = frame.right - frame.left;
    const double label_room =
        two_lines ? 0.0 : static_cast<double>(bar.label.size()) * character_width + 16.0;
    const auto fits = static_cast<std::size_t>(std::max(12.0, (room - label_room) / (character_width + 0.6)));
    const auto label = shortened(bar.label, static_cast<std::size_t>(room / character_width));
    std::string svg = "<g><title>" + escape(bar.name + ": " + bar.label) + "</title>\n";
    svg += text_at(frame.left, top + 13.0, "start", "name", shortened(bar.name, fits));
    svg += two_lines ? text_at(frame.left, top + 29.0, "start", "value", label)
                     : text_at(frame.right, top + 13.0, "end", "value", label);
    if (bar.ms) {
        const double y = top + (two_lines ? 36.0 : 20.0), middle = y + 8.0;
        const double low = frame.at_x(bar.ms->low), high = frame.at_x(bar.ms->high);
        if (bar.parts.empty()) svg += rectangle(frame, 0.0, bar.ms->median, y, bar.hue, "");
        double from = 0.0;
        for (const auto& part : bar.parts) {
            svg += rectangle(frame, from, from + part.value, y, part.hue,
                             "<title>" + escape(part.name) + "</title>");
            from += part.value;
        }
        svg += "<path class=\"whisker\" d=\"M" + px(low) + " " + px(middle) + "H" + px(high) + "M" + px(low) +
               " " + px(middle - 5.0) + "v10M" + px(high) + " " + px(middle - 5.0) + "v10\"/>\n";
    }
    return svg + "</g>\n";
}

}  // namespace

std::string line_plot(const LinePlot& plot, const Canvas& canvas) {
    const Frame frame = frame_of(plot, canvas);
    std::string svg = open_plot(plot.title, plot.description, canvas.width, canvas.height, canvas.css);
    svg += y_axis(frame, plot.y_label) + x_axis(frame.x, frame, plot.x_label);
    const auto limit =
        static_cast<std::size_t>(canvas.width * 2.0);  // two to a column show all that can be seen
    const Unit unit{plot.x_label == "optimizer step" ? "step" : plot.x_label, plot.steps ? 1 : 3};
    for (const double x : plot.breaks)
        svg += line_from(frame.at_x(x), frame.top, frame.at_x(x), frame.bottom, "grid");
    for (const auto& curve : plot.curves) svg += curve_of(curve, frame, limit, unit);
    return svg + "</svg>\n";
}

std::string bar_plot(const BarPlot& plot, const Canvas& canvas) {
    const bool two_lines = canvas.width < 500.0;
    const double pitch = two_lines ? 66.0 : 50.0;
    double longest_ms = 0.0;
    for (const auto& bar : plot.bars) {
        if (bar.ms) longest_ms = std::max({longest_ms, bar.ms->median, bar.ms->high});
        double sum = 0.0;
        for (const auto& part : bar.parts) sum += part.value;
        longest_ms = std::max(longest_ms, sum);
    }
    Frame frame{};
    frame.x = axis_around(0.0, longest_ms > 0.0 ? longest_ms : 1.0, two_lines ? 4 : 8);
    frame.left = digit_width * static_cast<double>(longest(tick_labels(frame.x))) / 2.0;
    frame.right = canvas.width - frame.left;
    frame.top = 0.0;
    frame.bottom = pitch * static_cast<double>(plot.bars.size()) + 4.0;
    std::string svg = open_plot(plot.title, plot.description, canvas.width, frame.bottom + 40.0, canvas.css);
    for (const double tick : frame.x.ticks) {
        svg += line_from(frame.at_x(tick), frame.top, frame.at_x(tick), frame.bottom, "grid");
    }
    for (std::size_t i = 0; i < plot.bars.size(); ++i) {
        svg += bar_of(plot.bars[i], frame, pitch * static_cast<double>(i), two_lines);
    }
    return svg + x_axis(frame.x, frame, plot.x_label) + "</svg>\n";
}

std::string share_bar(const std::string& title, const std::string& description,
                      const std::vector<Share>& shares) {
    double sum = 0.0;
    for (const auto& share : shares) sum += std::max(0.0, share.value);
    std::string svg =
        "<svg class=\"plot\" viewBox=\"0 0 1000 34\" preserveAspectRatio=\"none\" "
        "style=\"height:26px\" role=\"img\"" +
        attribute("aria-label", title + ". " + description) + ">\n<title>" + escape(title) +
        "</title>\n<desc>" + escape(description) + "</desc>\n";
    double x = 0.0;
    for (const auto& share : shares) {
        const double width = sum > 0.0 ? std::max(0.0, share.value) / sum * 1000.0 : 0.0;
        svg += "<rect x=\"" + px(x) + "\" y=\"0\" width=\"" + px(std::max(0.0, width - 2.0)) +
               "\" height=\"34\" class=\"fill-" + static_cast<char>(share.hue) + "\"><title>" +
               escape(share.name + ": " + bytes_text(share.value)) + "</title></rect>\n";
        x += width;
    }
    return svg + "</svg>\n";
}

std::string line_plot_for_all(const LinePlot& plot) {
    return line_plot(plot, {800.0, 320.0, "wide"}) + line_plot(plot, {380.0, 260.0, "narrow"});
}

std::string bar_plot_for_all(const BarPlot& plot) {
    return bar_plot(plot, {800.0, 0.0, "wide"}) + bar_plot(plot, {380.0, 0.0, "narrow"});
}

std::string legend(const std::vector<Curve>& curves) {
    std::string html = "<ul class=\"legend\">\n";
    for (const auto& curve : curves) {
        const std::string hue(1, static_cast<char>(curve.hue));
        html += "<li><svg width=\"26\" height=\"11\" aria-hidden=\"true\">";
        if (curve.look != Curve::Look::points) {
            html += "<line x1=\"0\" y1=\"5.5\" x2=\"26\" y2=\"5.5\" class=\"line stroke-" + hue +
                    (curve.look == Curve::Look::faint ? " faint" : "") + "\"" + dashes(curve) + "/>";
        }
        if (curve.look == Curve::Look::dots || curve.look == Curve::Look::points)
            html += "<circle cx=\"13\" cy=\"5.5\" r=\"4.5\" class=\"dot fill-" + hue + "\"/>";
        html += "</svg>" + escape(curve.name) + "</li>\n";
    }
    return html + "</ul>\n";
}

}  // namespace switchyard::report
