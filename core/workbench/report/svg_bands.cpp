#include "core/workbench/report/svg_bands.h"

#include <algorithm>

#include "core/workbench/report/svg_frame.h"
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

}  // namespace

std::string bands(const Bands& plot, const Canvas& canvas) {
    std::vector<double> totals(plot.x.size(), 0.0);
    for (const auto& band : plot.bands) {
        for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += band.values[i];
    }
    const double most = totals.empty() ? 1.0 : *std::ranges::max_element(totals);
    const auto frame =
        frame_around(axis_around(0.0, plot.x_end > 0.0 ? plot.x_end : 1.0, ticks_across(canvas)),
                     axis_around(0.0, most, ticks_up(canvas)), canvas);

    std::string svg = open_plot(plot.title, plot.description, canvas.width, canvas.height, canvas.css);
    svg += y_axis(frame, plot.y_label);
    const auto list = drawn(plot, totals, frame.right - frame.left);
    std::vector<double> below(plot.x.size(), 0.0);
    for (const auto& band : plot.bands) {
        std::string path, back;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto at = list[i];
            const auto end = px(frame.at_x(i + 1 < list.size() ? plot.x[list[i + 1]] : plot.x_end));
            path += (i == 0 ? "M" + px(frame.at_x(plot.x[at])) + " " : "V") +
                    px(frame.at_y(below[at] + band.values[at])) + "H" + end;
            back.insert(0, "V" + px(frame.at_y(below[at])) + "H" + px(frame.at_x(plot.x[at])));
        }
        for (std::size_t i = 0; i < below.size(); ++i) below[i] += band.values[i];
        if (!path.empty())
            svg += "<path class=\"bar fill-" + std::string(1, static_cast<char>(band.hue)) + "\" d=\"" +
                   path + back + "z\"><title>" + escape(band.name) + "</title></path>\n";
    }
    if (plot.line)
        svg += line_from(frame.at_x(*plot.line), frame.top, frame.at_x(*plot.line), frame.bottom, "axis");
    return svg + x_axis(frame.x, frame, plot.x_label) + "</svg>\n";
}

std::string bands_for_all(const Bands& plot) {
    return bands(plot, {800.0, 320.0, "wide"}) + bands(plot, {380.0, 260.0, "narrow"});
}

}  // namespace switchyard::report
