#include "core/workbench/report/svg_bands.h"

#include <algorithm>

#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {
namespace {

// What is drawn has at most so many steps to a pixel: of those that are left out the highest stays.
std::vector<std::size_t> drawn(const Bands& plot, const std::vector<double>& totals, double width) {
    std::vector<std::size_t> list;
    double pixel = -1.0;
    for (std::size_t i = 0; i < plot.x.size(); ++i) {
        const double at = plot.x_end > 0.0 ? plot.x[i] / plot.x_end * width / 2.0 : 0.0;
        const bool same = !list.empty() && at - pixel < 1.0;
        if (same && totals[i] >= totals[list.back()] && list.size() > 1) list.back() = i;
        if (same) continue;
        list.push_back(i);
        pixel = at;
    }
    return list;
}

std::size_t longest_of(const std::vector<std::string>& labels) {
    std::size_t length = 0;
    for (const auto& label : labels) length = std::max(length, label.size());
    return length;
}

}  // namespace

std::string bands(const Bands& plot, const Canvas& canvas) {
    std::vector<double> totals(plot.x.size(), 0.0);
    for (const auto& band : plot.bands) {
        for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += band.values[i];
    }
    const double most = totals.empty() ? 1.0 : *std::ranges::max_element(totals);
    const int ticks = canvas.width > 500.0 ? 8 : 4;
    const auto x_axis = axis_around(0.0, plot.x_end > 0.0 ? plot.x_end : 1.0, ticks);
    const auto y_axis = axis_around(0.0, most, canvas.height > 250.0 ? 6 : 4);
    const auto x_labels = tick_labels(x_axis), y_labels = tick_labels(y_axis);
    const double left = 12.0 + digit_width * static_cast<double>(longest_of(y_labels));
    const double right =
        canvas.width - std::max(10.0, digit_width * static_cast<double>(longest_of(x_labels)) / 2.0);
    const double top = 31.0, bottom = canvas.height - 40.0;
    const auto at_x = [&](double x) { return left + (x - x_axis.low) / (x_axis.high - x_axis.low) * (right - left); };
    const auto at_y = [&](double y) { return bottom - (y - y_axis.low) / (y_axis.high - y_axis.low) * (bottom - top); };

    std::string svg = open_plot(plot.title, plot.description, canvas.width, canvas.height, canvas.css);
    svg += axis_title(2.0, 13.0, "start", right, plot.y_label);
    for (std::size_t i = 0; i < y_labels.size(); ++i) {
        const double y = at_y(y_axis.ticks[i]);
        svg += line_from(left, y, right, y, "grid") + text_at(left - 7.0, y + 4.0, "end", "tick", y_labels[i]);
    }
    for (std::size_t i = 0; i < x_labels.size(); ++i) {
        const double x = at_x(x_axis.ticks[i]);
        svg += line_from(x, bottom, x, bottom + 5.0, "axis") +
               text_at(x, bottom + 18.0, "middle", "tick", x_labels[i]);
    }
    const auto list = drawn(plot, totals, right - left);
    std::vector<double> below(plot.x.size(), 0.0);
    for (const auto& band : plot.bands) {
        std::string path, back;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto at = list[i];
            const auto end = px(at_x(i + 1 < list.size() ? plot.x[list[i + 1]] : plot.x_end));
            path += (i == 0 ? "M" + px(at_x(plot.x[at])) + " " : "V") + px(at_y(below[at] + band.values[at])) +
                    "H" + end;
            back.insert(0, "V" + px(at_y(below[at])) + "H" + px(at_x(plot.x[at])));
        }
        for (std::size_t i = 0; i < below.size(); ++i) below[i] += band.values[i];
        if (!path.empty())
            svg += "<path class=\"bar fill-" + std::string(1, static_cast<char>(band.hue)) + "\" d=\"" + path +
                   back + "z\"><title>" + escape(band.name) + "</title></path>\n";
    }
    if (plot.line) svg += line_from(at_x(*plot.line), top, at_x(*plot.line), bottom, "axis");
    svg += line_from(left, bottom, right, bottom, "axis");
    return svg + axis_title((left + right) / 2.0, bottom + 35.0, "middle", right - left, plot.x_label) +
           "</svg>\n";
}

std::string bands_for_all(const Bands& plot) {
    return bands(plot, {800.0, 320.0, "wide"}) + bands(plot, {380.0, 260.0, "narrow"});
}

}  // namespace switchyard::report
