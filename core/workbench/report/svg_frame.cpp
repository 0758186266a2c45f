#include "core/workbench/report/svg_frame.h"

#include <algorithm>
#include <utility>

#include "core/workbench/report/svg_parts.h"

namespace switchyard::report {

int ticks_across(const Canvas& canvas) { return canvas.width > 500.0 ? 8 : 4; }

int ticks_up(const Canvas& canvas) { return canvas.height > 250.0 ? 6 : 4; }

Frame frame_around(Axis x, Axis y, const Canvas& canvas) {
    const auto x_room = digit_width * static_cast<double>(longest(tick_labels(x)));
    const auto y_room = digit_width * static_cast<double>(longest(tick_labels(y)));
    return {12.0 + y_room,        31.0,         canvas.width - std::max(10.0, x_room / 2.0),
            canvas.height - 40.0, std::move(x), std::move(y)};
}

std::size_t longest(const std::vector<std::string>& labels) {
    std::size_t length = 0;
    for (const auto& label : labels) length = std::max(length, label.size());
    return length;
}

std::string x_axis(const Axis& axis, const Frame& frame, const std::string& label) {
    std::string svg;
    const auto labels = tick_labels(axis);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const double x = frame.at_x(axis.ticks[i]);
        svg += line_from(x, frame.bottom, x, frame.bottom + 5.0, "axis");
        svg += tick_label(x, frame.bottom + 18.0, labels[i]);
    }
    svg += line_from(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
    return svg + axis_title((frame.left + frame.right) / 2.0, frame.bottom + 35.0, "middle",
                            frame.right - frame.left, label);
}

std::string y_axis(const Frame& frame, const std::string& label) {
    std::string svg = axis_title(2.0, 13.0, "start", frame.right, label);
    const auto labels = tick_labels(frame.y);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const double y = frame.at_y(frame.y.ticks[i]);
        svg += line_from(frame.left, y, frame.right, y, "grid");
        svg += text_at(frame.left - 7.0, y + 4.0, "end", "tick", labels[i]);
    }
    return svg;
}

}  // namespace switchyard::report
