// Plots as inline SVG: curves over steps, bars with intervals, one bar of shares. Colors are the style
// sheet's; all texts given here are plain and become escaped. Each plot carries a title and a description in
// words for those who do not see it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/number_text.h"
#include "core/workbench/report/series.h"

namespace switchyard::report {

// One of the style sheet's eight.
enum class Hue : char { a = 'a', b = 'b', c = 'c', d = 'd', e = 'e', f = 'f', g = 'g', h = 'h' };

struct Curve {
    enum class Look { line, faint, dots, points };  // dots: joined by a line; points: not
    std::string name;
    Hue hue = Hue::a;
    Look look = Look::line;
    Points points;
    bool dashed = false;
};

struct LinePlot {
    std::string title;
    std::string description;
    std::string y_label;  // with its unit
    std::vector<Curve> curves;
    bool from_zero = false;
    std::string x_label = "optimizer step";
    bool steps = true;                // x counts; else it is a measure, of at least 0
    std::vector<double> breaks = {};  // values of x between which something begins anew
};

struct Share {
    std::string name;
    double value = 0.0;
    Hue hue = Hue::a;
};

struct BarPlot {
    struct Bar {
        std::string name;
        std::string label;           // what is written beside the name
        std::optional<Interval> ms;  // nothing: no bar
        Hue hue = Hue::a;
        std::vector<Share> parts = {};  // that the bar is made of, from the left; empty: one of that hue
    };
    std::string title;
    std::string description;
    std::string x_label;
    std::vector<Bar> bars;
};

// Sizes in units of about a pixel. `css` is the class of the whole.
struct Canvas {
    double width = 800.0;
    double height = 320.0;  // bars choose their own
    std::string css;
};

std::string line_plot(const LinePlot& plot, const Canvas& canvas);
std::string bar_plot(const BarPlot& plot, const Canvas& canvas);
std::string share_bar(const std::string& title, const std::string& description,
                      const std::vector<Share>& shares);

// The same plot drawn for wide and for narrow pages, of which the style sheet shows one: text keeps its size.
std::string line_plot_for_all(const LinePlot& plot);
std::string bar_plot_for_all(const BarPlot& plot);

// HTML: which curve is which.
std::string legend(const std::vector<Curve>& curves);

}  // namespace switchyard::report
