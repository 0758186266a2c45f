#include "core/workbench/report/svg_waterfall.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {
namespace {

constexpr double indent = 14.0;  // of a name, for each step of depth
constexpr int most_indents = 6;

// Speeds from 0 on: bars of a linear axis add up.
struct SpeedScale {
    double left, right;
    Axis axis;
    double at(double ratio) const {
        return left + (ratio - axis.low) / (axis.high - axis.low) * (right - left);
    }
};

// An interval that is far wider than all bars are long does not squeeze them: it leaves the plot.
constexpr double most_beyond_bars = 1.5;

SpeedScale scale_of(const Waterfall& plot, const Canvas& canvas) {
    double bars = 1.0, intervals = 1.0;
    for (const auto& row : plot.rows) {
        bars = std::max(bars, row.mark.value_or(0.0));
        if (!row.ratio) continue;
        bars = std::max({bars, row.ratio->median, row.from});
        if (std::isfinite(row.ratio->high)) intervals = std::max(intervals, row.ratio->high);
    }
    const double most = std::max(bars, std::min(intervals, most_beyond_bars * bars));
    return {2.0, canvas.width - 14.0, axis_around(0.0, most * 1.02, canvas.width > 500.0 ? 8 : 4)};
}

std::string bar_of(const Waterfall::Row& row, const SpeedScale& scale, double y) {
    const double from = scale.at(row.from), to = scale.at(row.ratio->median);
    const char hue = row.ratio->median >= row.from ? 'c' : 'b';
    std::string svg = "<rect x=\"" + px(std::min(from, to)) + "\" y=\"" + px(y) + "\" width=\"" +
                      px(std::max(2.0, std::abs(to - from))) + "\" height=\"14\" class=\"bar fill-" + hue +
                      "\"/>\n" + line_from(from, y - 3.0, from, y + 17.0, "axis");
    if (std::isfinite(row.ratio->low) && std::isfinite(row.ratio->high)) {
        const double low = scale.at(std::max(row.ratio->low, scale.axis.low));
        const double high = std::min(scale.at(row.ratio->high), scale.right);
        svg += whisker(low, high, y + 7.0, false, row.ratio->high > scale.axis.high);
    }
    return svg;
}

std::string row_of(const Waterfall::Row& row, const SpeedScale& scale, double top, bool two_lines) {
    const double shift = indent * std::min(row.depth, most_indents);
    const double room = scale.right - scale.left;
    const auto label = shortened(row.label, static_cast<std::size_t>(room / character_width));
    const double label_room = two_lines ? 0.0 : static_cast<double>(label.size()) * character_width + 16.0;
    const auto fits = static_cast<std::size_t>(std::max(10.0, (room - shift - label_room) / character_width));
    std::string svg = "<g><title>" + escape(row.name + ": " + row.label) + "</title>\n" +
                      text_at(scale.left + shift, top + 13.0, "start", "name", shortened(row.name, fits));
    svg += two_lines ? text_at(scale.left + shift, top + 29.0, "start", "value", label)
                     : text_at(scale.right, top + 13.0, "end", "value", label);
    const double y = top + (two_lines ? 37.0 : 21.0);
    if (row.ratio) svg += bar_of(row, scale, y);
    if (row.mark) {
        const double x = scale.at(*row.mark);
        svg += "<path class=\"whisker\" d=\"M" + px(x - 6.0) + " " + px(y + 7.0) +
               "l6-6l6 6l-6 6z\"><title>" + escape("published: " + page_number(*row.mark) + " times") +
               "</title></path>\n";
    }
    return svg + "</g>\n";
}

}  // namespace

std::string waterfall(const Waterfall& plot, const Canvas& canvas) {
    const bool two_lines = canvas.width < 500.0;
    const double pitch = two_lines ? 62.0 : 46.0;
    const SpeedScale scale = scale_of(plot, canvas);
    const double bottom = pitch * static_cast<double>(plot.rows.size()) + 4.0;
    std::string svg = open_plot(plot.title, plot.description, canvas.width, bottom + 42.0, canvas.css);
    svg += ratio_axis(
        scale.axis.ticks, tick_labels(scale.axis), [&](double ratio) { return scale.at(ratio); }, scale.left,
        scale.right, bottom);
    for (std::size_t i = 0; i < plot.rows.size(); ++i)
        svg += row_of(plot.rows[i], scale, pitch * static_cast<double>(i), two_lines);
    return svg + axis_title(canvas.width / 2.0, bottom + 36.0, "middle", canvas.width, plot.x_label) +
           "</svg>\n";
}

std::string waterfall_for_all(const Waterfall& plot) {
    return waterfall(plot, {800.0, 0.0, "wide"}) + waterfall(plot, {380.0, 0.0, "narrow"});
}

}  // namespace switchyard::report
