// A time line: what went on from when to when, one below the other over a common axis that begins with 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {

struct TimeLine {
    struct Row {
        std::string name;   // a few characters
        std::string label;  // for who points at it
        double begin = 0.0, end = 0.0;
        Hue hue = Hue::a;
    };
    std::string title;
    std::string description;
    std::string x_label;
    std::vector<Row> rows;
    std::optional<double> line;  // a moment that stands across all rows
};

std::string time_line(const TimeLine& plot, const Canvas& canvas);
std::string time_line_for_all(const TimeLine& plot);

}  // namespace switchyard::report
