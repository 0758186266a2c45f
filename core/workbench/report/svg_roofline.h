// A roofline (Williams, Waterman & Patterson 2009, Communications of the ACM 52:65): operations a second over
// operations a byte, both axes in powers of ten, below what the machine's products and its memory allow.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {

struct Roofline {
    struct Ceiling {
        std::string name;    // "float32"
        double rate = 0.0;  // operations a second
    };
    struct Slope {
        std::string name;  // "copy"
        double rate = 0.0;  // bytes a second
        bool dashed = false;
    };
    struct Dot {
        std::string name, label;
        double intensity = 0.0;  // operations a byte
        double rate = 0.0;       // operations a second
        double share = 0.0;      // of all time, 0 to 1: the dot's size
        Hue hue = Hue::a;
    };
    std::string title, description;
    std::vector<Ceiling> ceilings;
    std::vector<Slope> slopes;
    std::vector<Dot> dots;
};

std::string roofline(const Roofline& plot, const Canvas& canvas);
std::string roofline_for_all(const Roofline& plot);

}  // namespace switchyard::report
