// A forest plot: ratios with their intervals, one below the other, around the line of 1.
//
// Lewis & Clarke 2001, "Forest plots: trying to see the wood and the trees", BMJ 322:1479. Where ratios lie
// far apart the axis is logarithmic, so that twice as fast and half as fast are as far from 1.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/report/number_text.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {

struct ForestPlot {
    struct Row {
        std::string name;
        std::string label;  // beside the name
        Interval ratio;     // low and high may be NaN: then the median stands alone
        Hue hue = Hue::a;
    };
    std::string title;
    std::string description;
    std::string x_label;
    double margin = 0.02;  // of 1: shaded
    std::vector<Row> rows;
};

std::string forest_plot(const ForestPlot& plot, const Canvas& canvas);
std::string forest_plot_for_all(const ForestPlot& plot);

}  // namespace switchyard::report
