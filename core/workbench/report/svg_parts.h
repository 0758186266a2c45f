// What plots are written with: numbers, texts and lines of SVG.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "core/workbench/report/html_text.h"

namespace switchyard::report {

inline constexpr double digit_width = 7.3;  // of the style sheet's 12.5 px, generously
inline constexpr double character_width = 7.0;

// At most one decimal: a tenth of a pixel.
inline std::string px(double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.1f", value);
    std::string result = text;
    if (result.ends_with(".0")) result.resize(result.size() - 2);
    return result == "-0" ? "0" : result;
}

inline std::string attribute(const char* name, const std::string& value) {
    return std::string(" ") + name + "=\"" + escape(value) + "\"";
}

inline std::string text_at(double x, double y, const char* anchor, const std::string& css,
                           const std::string& text) {
    return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" text-anchor=\"" + anchor + "\" class=\"" + css +
           "\">" + escape(text) + "</text>\n";
}

// What an axis shows, in at most `room`.
inline std::string axis_title(double x, double y, const char* anchor, double room, const std::string& text) {
    const auto fits = static_cast<std::size_t>(room / character_width);
    return text_at(x, y, anchor, "axis-title", shortened(text, fits));
}

inline std::string line_from(double x1, double y1, double x2, double y2, const char* css) {
    return "<line x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2) + "\" y2=\"" + px(y2) +
           "\" class=\"" + css + "\"/>\n";
}

// An interval at the height `y`. An end is a stroke where it lies in the plot, and an arrow where it goes on.
inline std::string whisker(double low, double high, double y, bool goes_on_below, bool goes_on_above) {
    const std::string top = " " + px(y - 5.0);
    return "<path class=\"whisker\" d=\"M" + px(low) + " " + px(y) + "H" + px(high) +
           (goes_on_below ? "M" + px(low + 5.0) + top + "l-5 5l5 5" : "M" + px(low) + top + "v10") +
           (goes_on_above ? "M" + px(high - 5.0) + top + "l5 5l-5 5" : "M" + px(high) + top + "v10") +
           "\"/>\n";
}

inline std::string open_plot(const std::string& title, const std::string& description, double width,
                             double height, const std::string& css) {
    return "<svg class=\"plot " + css + "\" viewBox=\"0 0 " + px(width) + " " + px(height) +
           "\" role=\"img\"" + attribute("aria-label", title + ". " + description) + ">\n<title>" +
           escape(title) + "</title>\n<desc>" + escape(description) + "</desc>\n";
}

// A number below an axis: in the middle of its tick, but at the very left, where there is no room for half
// of it.
inline std::string tick_label(double x, double y, const std::string& label) {
    const bool fits = x >= digit_width * static_cast<double>(label.size()) / 2.0;
    return text_at(x, y, fits ? "middle" : "start", "tick", label);
}

// Ticks below a plot, with lines through it. `at`: where a value lies.
template <class At>
std::string axis_ticks(const std::vector<double>& ticks, const std::vector<std::string>& labels, const At& at,
                       double bottom) {
    std::string svg;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        const double x = at(ticks[i]);
        svg += line_from(x, 0.0, x, bottom, "grid") + line_from(x, bottom, x, bottom + 5.0, "axis") +
               tick_label(x, bottom + 18.0, labels[i]);
    }
    return svg;
}

// Below a plot of ratios: ticks, the line of 1 and the axis.
template <class At>
std::string ratio_axis(const std::vector<double>& ticks, const std::vector<std::string>& labels, const At& at,
                       double left, double right, double bottom) {
    return axis_ticks(ticks, labels, at, bottom) + line_from(at(1.0), 0.0, at(1.0), bottom, "axis") +
           line_from(left, bottom, right, bottom, "axis");
}

}  // namespace switchyard::report
