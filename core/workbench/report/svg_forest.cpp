#include "core/workbench/report/svg_forest.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {
namespace {

// The way from ratios to places.
struct Scale {
    double left = 0.0, right = 1.0, low = 0.5, high = 2.0;
    bool logarithmic = false;
    std::vector<double> ticks;
    std::vector<std::string> labels;

    double at(double ratio) const {
        const double share = logarithmic ? std::log(std::clamp(ratio, low, high) / low) / std::log(high / low)
                                         : (std::clamp(ratio, low, high) - low) / (high - low);
        return left + share * (right - left);
    }
};

// An interval that is far wider than the medians are apart does not squeeze them: it leaves the plot.
constexpr double most_beyond_medians = 5.0;
constexpr double margin_beside = 12.0;  // left and right of the plot

// Ratios and their margins stay within a double.
bool usable(double value) { return value > 1e-100 && value < 1e100; }

void linear_ticks(Scale& scale, int count) {
    const Axis axis = axis_around(scale.low, scale.high, count);
    scale.low = axis.low;
    scale.high = axis.high;
    scale.ticks = axis.ticks;
    scale.labels = tick_labels(axis);
}

// Labels that would touch go, and those that would leave the picture: 1 stays, and on both sides of it what
// is far enough from the last that stays.
void thin_out(Scale& scale) {
    const auto count = static_cast<std::ptrdiff_t>(scale.ticks.size());
    const auto one = std::find(scale.ticks.begin(), scale.ticks.end(), 1.0) - scale.ticks.begin();
    const auto middle = one < count ? one : 0;
    std::vector<bool> stays(scale.ticks.size(), false);
    const auto fits = [&](std::ptrdiff_t at, std::ptrdiff_t last) {
        const auto size = [&](std::ptrdiff_t i) { return scale.labels[static_cast<std::size_t>(i)].size(); };
        const double needed = digit_width * (static_cast<double>(size(at) + size(last)) / 2.0 + 1.0);
        const auto place = [&](std::ptrdiff_t i) {
            return scale.at(scale.ticks[static_cast<std::size_t>(i)]);
        };
        const double half = digit_width * static_cast<double>(size(at)) / 2.0;
        const bool shown = place(at) - half >= 0.0 && place(at) + half <= scale.right + margin_beside;
        return shown && std::abs(place(at) - place(last)) >= needed;
    };
    for (const std::ptrdiff_t step : {-1, 1}) {
        auto last = middle;
        for (auto at = middle; at >= 0 && at < count; at += step) {
            if (at != middle && !fits(at, last)) continue;
            stays[static_cast<std::size_t>(at)] = true;
            last = at;
        }
    }
    for (auto at = scale.ticks.size(); at-- > 0;) {
        if (stays[at]) continue;
        scale.ticks.erase(scale.ticks.begin() + static_cast<std::ptrdiff_t>(at));
        scale.labels.erase(scale.labels.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

void logarithmic_ticks(Scale& scale) {
    scale.logarithmic = true;
    const double range = scale.high / scale.low;
    const std::vector<double> digits_of_ten =
        range > 100.0  ? std::vector<double>{1.0}
        : range > 12.0 ? std::vector<double>{1.0, 2.0, 5.0}
                       : std::vector<double>{1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0};
    for (double power = std::pow(10.0, std::floor(std::log10(scale.low))); power <= scale.high;
         power *= 10.0) {
        for (const double digit : digits_of_ten) {
            const double tick = power * digit;
            if (tick < scale.low || tick > scale.high) continue;
            scale.ticks.push_back(tick);
            scale.labels.push_back(page_number(tick, 2));
        }
    }
    thin_out(scale);
}

Scale scale_of(const ForestPlot& plot, double left, double right) {
    Scale scale;
    scale.left = left;
    scale.right = right;
    scale.low = 1.0 - plot.margin;
    scale.high = 1.0 + plot.margin;
    for (const auto& row : plot.rows) {
        if (!usable(row.ratio.median)) continue;
        scale.low = std::min(scale.low, row.ratio.median);
        scale.high = std::max(scale.high, row.ratio.median);
    }
    const double least = scale.low / most_beyond_medians, most = scale.high * most_beyond_medians;
    for (const auto& row : plot.rows) {
        if (usable(row.ratio.low)) scale.low = std::min(scale.low, std::max(row.ratio.low, least));
        if (usable(row.ratio.high)) scale.high = std::max(scale.high, std::min(row.ratio.high, most));
    }
    const double margin = std::pow(scale.high / scale.low, 0.06);
    scale.low /= margin;
    scale.high *= margin;
    if (scale.high / scale.low < 1.8)
        linear_ticks(scale, right - left > 500.0 ? 8 : 4);
    else
        logarithmic_ticks(scale);
    return scale;
}

std::string row_of(const ForestPlot::Row& row, const Scale& scale, double top, bool two_lines) {
    const auto fits = static_cast<std::size_t>((scale.right - scale.left) / character_width);
    const auto label = shortened(row.label, fits);
    const auto room = two_lines || label.size() + 4 > fits ? fits : fits - label.size() - 3;
    std::string svg = "<g><title>" + escape(row.name + ": " + row.label) + "</title>\n";
    svg +=
        text_at(scale.left, top + 13.0, "start", "name", shortened(row.name, std::max<std::size_t>(room, 8)));
    svg += two_lines ? text_at(scale.left, top + 29.0, "start", "value", label)
                     : text_at(scale.right, top + 13.0, "end", "value", label);
    const double y = top + (two_lines ? 46.0 : 30.0);
    if (usable(row.ratio.low) && usable(row.ratio.high)) {
        const bool below = row.ratio.low < scale.low, above = scale.high < row.ratio.high;
        svg += whisker(scale.at(row.ratio.low), scale.at(row.ratio.high), y, below, above);
    }
    if (usable(row.ratio.median)) {
        svg += "<circle cx=\"" + px(scale.at(row.ratio.median)) + "\" cy=\"" + px(y) +
               "\" r=\"5.5\" class=\"dot fill-" + static_cast<char>(row.hue) + "\"/>\n";
    }
    return svg + "</g>\n";
}

}  // namespace

std::string forest_plot(const ForestPlot& plot, const Canvas& canvas) {
    const bool two_lines = canvas.width < 500.0;
    const double pitch = two_lines ? 62.0 : 46.0;
    const Scale scale = scale_of(plot, margin_beside, canvas.width - margin_beside);
    const double bottom = pitch * static_cast<double>(plot.rows.size()) + 6.0;
    std::string svg = open_plot(plot.title, plot.description, canvas.width, bottom + 42.0, canvas.css);
    const double from = scale.at(1.0 - plot.margin), to = scale.at(1.0 + plot.margin);
    svg += "<rect x=\"" + px(from) + "\" y=\"0\" width=\"" + px(std::max(1.0, to - from)) + "\" height=\"" +
           px(bottom) + "\" class=\"fill-a\" fill-opacity=\".13\"><title>the same within " +
           page_number(100.0 * plot.margin, 1) + " %</title></rect>\n";
    svg += ratio_axis(
        scale.ticks, scale.labels, [&](double ratio) { return scale.at(ratio); }, scale.left, scale.right,
        bottom);
    for (std::size_t i = 0; i < plot.rows.size(); ++i)
        svg += row_of(plot.rows[i], scale, pitch * static_cast<double>(i), two_lines);
    return svg + axis_title(canvas.width / 2.0, bottom + 36.0, "middle", canvas.width, plot.x_label) +
           "</svg>\n";
}

std::string forest_plot_for_all(const ForestPlot& plot) {
    return forest_plot(plot, {800.0, 0.0, "wide"}) + forest_plot(plot, {380.0, 0.0, "narrow"});
}

}  // namespace switchyard::report
