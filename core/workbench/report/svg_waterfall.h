// A waterfall: speeds as multiples of a base, one below the other; each bar begins where what it stands on
// ends, so that its length is what it adds or takes away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/number_text.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {

struct Waterfall {
    struct Row {
        std::string name;
        std::string label;              // beside the name
        int depth = 0;                  // in the tree: the name is indented by it
        std::optional<Interval> ratio;  // nothing: no bar
        double from = 1.0;              // the ratio of what it stands on
        std::optional<double> mark;     // what others published: a hollow rhombus
    };
    std::string title;
    std::string description;
    std::string x_label;
    std::vector<Row> rows;
};

std::string waterfall(const Waterfall& plot, const Canvas& canvas);
std::string waterfall_for_all(const Waterfall& plot);

}  // namespace switchyard::report
