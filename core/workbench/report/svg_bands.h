// Amounts that add up, over time: bands, one upon the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {

struct Bands {
    struct Band {
        std::string name;
        Hue hue = Hue::a;
        std::vector<double> values;  // one for each x
    };
    std::string title, description, x_label, y_label;
    std::vector<double> x;  // from 0, increasing; each value holds up to the next
    double x_end = 0.0;
    std::vector<Band> bands;     // the lowest first
    std::optional<double> line;  // a moment that stands across all
};

std::string bands(const Bands& plot, const Canvas& canvas);
std::string bands_for_all(const Bands& plot);

}  // namespace switchyard::report
