#include "core/workbench/report/svg_timeline.h"

#include <algorithm>

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {
namespace {

constexpr double row_pitch = 24.0;  // from row to row
constexpr std::size_t most_of_name = 16;
constexpr double least_width = 2.0;  // of a bar, so that it is seen

std::size_t longest_name(const TimeLine& plot) {
    std::size_t length = 0;
    for (const auto& row : plot.rows) length = std::max(length, std::min(row.name.size(), most_of_name));
    return length;
}

}  // namespace

std::string time_line(const TimeLine& plot, const Canvas& canvas) {
    double last = plot.line.value_or(0.0);
    for (const auto& row : plot.rows) last = std::max(last, row.end);
    const auto axis = axis_around(0.0, last > 0.0 ? last : 1.0, canvas.width > 500.0 ? 8 : 4);
    const auto labels = tick_labels(axis);
    const double left = 10.0 + character_width * static_cast<double>(longest_name(plot));
    const double right = canvas.width - 4.0 - digit_width * static_cast<double>(labels.back().size()) / 2.0;
    const double bottom = row_pitch * static_cast<double>(plot.rows.size()) + 6.0;
    const auto at = [&](double x) { return left + (x - axis.low) / (axis.high - axis.low) * (right - left); };

    std::string svg = open_plot(plot.title, plot.description, canvas.width, bottom + 42.0, canvas.css);
    svg += axis_ticks(axis.ticks, labels, at, bottom);
    for (std::size_t i = 0; i < plot.rows.size(); ++i) {
        const auto& row = plot.rows[i];
        const double top = row_pitch * static_cast<double>(i) + 5.0;
        const double begin = std::min(at(row.begin), right - least_width);
        svg += "<g><title>" + escape(row.name + ": " + row.label) + "</title>\n" +
               text_at(left - 7.0, top + 12.0, "end", "name", shortened(row.name, most_of_name)) +
               "<rect x=\"" + px(begin) + "\" y=\"" + px(top) + "\" width=\"" +
               px(std::max(least_width, at(row.end) - begin)) + "\" height=\"16\" class=\"bar fill-" +
               static_cast<char>(row.hue) + "\"/>\n</g>\n";
    }
    if (plot.line) svg += line_from(at(*plot.line), 0.0, at(*plot.line), bottom, "axis");
    svg += line_from(left, bottom, right, bottom, "axis");
    return svg + axis_title((left + right) / 2.0, bottom + 36.0, "middle", right - left, plot.x_label) +
           "</svg>\n";
}

std::string time_line_for_all(const TimeLine& plot) {
    return time_line(plot, {800.0, 0.0, "wide"}) + time_line(plot, {380.0, 0.0, "narrow"});
}

}  // namespace switchyard::report
