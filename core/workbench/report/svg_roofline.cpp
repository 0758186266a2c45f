#include "core/workbench/report/svg_roofline.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {
namespace {

constexpr double giga = 1e9;
constexpr double label_height = 17.0;  // of text in a plot, with what keeps it apart

// Whole powers of ten around the values.
struct Decades {
    int low = 0, high = 1;
    void take(double value) {
        if (!(value > 0.0) || !std::isfinite(value)) return;
        const double power = std::log10(value);
        low = std::min(low, static_cast<int>(std::floor(power)));
        high = std::max(high, static_cast<int>(std::ceil(power)));
    }
    double share(double value) const { return (std::log10(value) - low) / (high - low); }
};

std::string power_label(int power) {
    if (power >= 0 && power <= 3) return std::to_string(static_cast<int>(std::lround(std::pow(10.0, power))));
    return power == -1 ? "0.1" : "1e" + std::to_string(power);
}

struct Area {
    double left, top, right, bottom;
    Decades x, y;
    double at_x(double intensity) const { return left + x.share(intensity) * (right - left); }
    double at_y(double rate) const { return bottom - y.share(rate / giga) * (bottom - top); }
};

Area area_of(const Roofline& plot, const Canvas& canvas) {
    Area area{44.0, 31.0, canvas.width - 14.0, canvas.height - 40.0, {}, {}};
    for (const auto& dot : plot.dots) {
        area.x.take(dot.intensity);
        area.y.take(dot.rate / giga);
    }
    double highest = 0.0;
    for (const auto& ceiling : plot.ceilings) {
        area.y.take(ceiling.rate / giga);
        highest = std::max(highest, ceiling.rate);
    }
    for (const auto& slope : plot.slopes) area.x.take(highest / slope.rate);
    return area;
}

std::string axes(const Area& area) {
    std::string svg = axis_title(2.0, 13.0, "start", area.right, "GFLOP/s");
    for (int power = area.y.low; power <= area.y.high; ++power) {
        const double y = area.at_y(std::pow(10.0, power) * giga);
        svg += line_from(area.left, y, area.right, y, "grid") +
               text_at(area.left - 7.0, y + 4.0, "end", "tick", power_label(power));
    }
    for (int power = area.x.low; power <= area.x.high; ++power) {
        const double x = area.at_x(std::pow(10.0, power));
        svg += line_from(x, area.top, x, area.bottom, "grid") +
               text_at(x, area.bottom + 18.0, "middle", "tick", power_label(power));
    }
    svg += line_from(area.left, area.bottom, area.right, area.bottom, "axis");
    return svg + axis_title((area.left + area.right) / 2.0, area.bottom + 35.0, "middle",
                            area.right - area.left, "operations a byte");
}

// From where memory stops to limit, to the right; its name above it, where no other stands.
std::string ceilings_of(const Roofline& plot, const Area& area) {
    auto ceilings = plot.ceilings;
    std::ranges::sort(ceilings, std::greater<>(), &Roofline::Ceiling::rate);
    double bandwidth = 0.0;
    for (const auto& slope : plot.slopes) bandwidth = std::max(bandwidth, slope.rate);
    std::string svg;
    double last = area.top - 2.0 * label_height;
    for (const auto& ceiling : ceilings) {
        const double y = area.at_y(ceiling.rate);
        const double x = bandwidth > 0.0 ? area.at_x(ceiling.rate / bandwidth) : area.left;
        svg += "<g><title>" + escape(ceiling.name + ": " + page_number(ceiling.rate / giga) + " GFLOP/s") +
               "</title>\n" + line_from(x, y, area.right, y, "whisker") + "</g>\n";
        if (y - 5.0 - last < label_height) continue;
        svg += text_at(area.right, y - 5.0, "end", "value", ceiling.name);
        last = y - 5.0;
    }
    return svg;
}

std::string slopes_of(const Roofline& plot, const Area& area) {
    double highest = 0.0;
    for (const auto& ceiling : plot.ceilings) highest = std::max(highest, ceiling.rate);
    std::string svg;
    for (const auto& slope : plot.slopes) {
        // From the left edge, or the bottom, to the highest ceiling.
        const double lowest = std::pow(10.0, area.y.low) * giga;
        const double from = std::max(std::pow(10.0, area.x.low), lowest / slope.rate);
        const double to = highest / slope.rate;
        svg += "<g><title>" + escape(slope.name + ": " + page_number(slope.rate / giga) + " GB/s") +
               "</title>\n<path class=\"whisker\"" + (slope.dashed ? " stroke-dasharray=\"7 4\"" : "") +
               " d=\"M" + px(area.at_x(from)) + " " + px(area.at_y(from * slope.rate)) + "L" +
               px(area.at_x(to)) + " " + px(area.at_y(highest)) + "\"/>\n</g>\n";
    }
    return svg;
}

}  // namespace

std::string roofline(const Roofline& plot, const Canvas& canvas) {
    const auto area = area_of(plot, canvas);
    std::string svg = open_plot(plot.title, plot.description, canvas.width, canvas.height, canvas.css) +
                      axes(area) + slopes_of(plot, area) + ceilings_of(plot, area);
    for (const auto& dot : plot.dots) {
        if (!(dot.intensity > 0.0) || !(dot.rate > 0.0)) continue;
        const double radius = 4.5 + 9.0 * std::sqrt(std::clamp(dot.share, 0.0, 1.0));
        svg += "<circle cx=\"" + px(area.at_x(dot.intensity)) + "\" cy=\"" + px(area.at_y(dot.rate)) +
               "\" r=\"" + px(radius) + "\" class=\"dot fill-" + static_cast<char>(dot.hue) + "\"><title>" +
               escape(dot.name + ": " + dot.label) + "</title></circle>\n";
    }
    return svg + "</svg>\n";
}

std::string roofline_for_all(const Roofline& plot) {
    return roofline(plot, {800.0, 380.0, "wide"}) + roofline(plot, {380.0, 320.0, "narrow"});
}

}  // namespace switchyard::report
