#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/profile/drawn_memory.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {
namespace {

using base::bytes_text;
using report::BarPlot;
using report::escape;
using report::Hue;
using report::shortened;

constexpr std::size_t points_of_line = 100;

double peak_bytes(const ArmResult& arm) { return static_cast<double>(arm.peak_memory_bytes); }

double observed_bytes(const ArmResult& arm) {
    return arm.observed ? static_cast<double>(arm.observed->memory.peak.total()) : 0.0;
}

struct ByteUnit {
    double bytes;
    std::string name;
};

ByteUnit unit_of_all(const Comparison& comparison) {
    double largest = 0.0;
    for (const auto& arm : comparison.arms)
        largest = std::max({largest, peak_bytes(arm), observed_bytes(arm)});
    if (largest >= 1e9) return {1e9, "GB"};
    return largest >= 1e6 ? ByteUnit{1e6, "MB"} : ByteUnit{1e3, "kB"};
}

// Of arms that were observed, what each class has when all is most.
std::vector<report::Share> parts_of_peak(const ArmResult& arm, const ByteUnit& unit) {
    std::vector<report::Share> parts;
    if (!arm.observed) return parts;
    for (const auto& drawn : profile::drawn_memory()) {
        const double bytes = drawn.bytes_of(arm.observed->memory.peak.parts);
        if (bytes > 0.0)
            parts.push_back({drawn.name + " " + bytes_text(bytes), bytes / unit.bytes, drawn.hue});
    }
    return parts;
}

bool any_observed(const Comparison& comparison) {
    return std::ranges::any_of(comparison.arms,
                               [](const ArmResult& arm) { return arm.observed.has_value(); });
}

// Classes that some arm has at its peak.
std::vector<profile::DrawnMemory> classes_of(const Comparison& comparison) {
    std::vector<profile::DrawnMemory> classes;
    for (const auto& drawn : profile::drawn_memory()) {
        if (std::ranges::any_of(comparison.arms, [&](const ArmResult& arm) {
                return arm.observed && drawn.bytes_of(arm.observed->memory.peak.parts) > 0.0;
            }))
            classes.push_back(drawn);
    }
    return classes;
}

std::string peaks_figure(const Comparison& comparison, const ByteUnit& unit) {
    const bool split = any_observed(comparison);
    BarPlot plot{"Peak memory", "", "live tensor bytes at their most, " + unit.name, {}};
    for (const auto at : plotted(comparison)) {
        const auto& arm = comparison.arms[at];
        if (arm.peak_memory_bytes < 0) continue;
        auto parts = parts_of_peak(arm, unit);
        const double size = peak_bytes(arm) / unit.bytes;
        std::string label = bytes_text(peak_bytes(arm)), told = label;
        for (const auto& part : parts) base::add_item(told, part.name);
        if (split && parts.empty()) label += ", nobody told what for";
        plot.bars.push_back({arm.spec.name, label, base::Interval{size, size, size},
                             split ? Hue::h : hue_of(at), std::move(parts)});
        base::add_item(plot.description, arm.spec.name + ": " + told, "; ");
    }
    if (plot.bars.empty()) return "";
    std::vector<report::Curve> legend;
    for (const auto& drawn : classes_of(comparison))
        legend.push_back({drawn.name, drawn.hue, report::Curve::Look::points, {}});
    const std::string caption =
        split ? "<figcaption>The mark is the peak within blocks; the bar is the peak of one more step after "
                "the blocks of the first round, by what its memory is for.</figcaption>\n"
              : "";
    return "<figure>\n" + (split ? report::legend(legend) : "") + report::bar_plot_for_all(plot) + caption +
           "</figure>\n";
}

std::string lines_figure(const Comparison& comparison, const ByteUnit& unit) {
    report::LinePlot plot{"Live memory over a step", "",   unit.name, {}, true,
                          "ms since the step began", false};
    for (const auto at : plotted(comparison)) {
        const auto& arm = comparison.arms[at];
        if (!arm.observed) continue;
        report::Points points;
        for (const auto& point : arm.observed->memory.line)
            points.push_back({point.ms, static_cast<double>(point.total()) / unit.bytes});
        if (points.size() < 2) continue;
        plot.curves.push_back({arm.spec.name, hue_of(at), report::Curve::Look::line,
                               report::thinned(points, points_of_line), at % 2 == 1});
        base::add_item(plot.description,
                       arm.spec.name + ": " + bytes_text(observed_bytes(arm)) + " at most, after " +
                           report::page_number(arm.observed->memory.peak.ms) + " ms",
                       "; ");
    }
    if (plot.curves.empty()) return "";
    return "<figure>\n" + report::legend(plot.curves) + report::line_plot_for_all(plot) +
           "<figcaption>Of that one step, the highest of each stretch of time. It was observed, which made "
           "it "
           "a little slower.</figcaption>\n</figure>\n";
}

std::string most_activations(const ArmResult& arm) {
    const auto& layers = arm.observed->memory.layers;
    const auto most = std::ranges::max_element(layers, {}, [](const auto& layer) { return layer.second; });
    if (most == layers.end()) return "";
    return why("most activations: " + (most->first.empty() ? "outside of layers" : most->first) + ", " +
               bytes_text(static_cast<double>(most->second)));
}

std::string parts_table(const Comparison& comparison) {
    const auto classes = classes_of(comparison);
    if (classes.empty()) return "";
    std::vector<report::HtmlTable::Column> columns{{"At the peak of a step"}};
    for (const auto& drawn : classes) {
        auto title = drawn.name;
        title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
        columns.push_back({title, true});
    }
    report::HtmlTable table(columns);
    for (const auto at : plotted(comparison)) {
        const auto& arm = comparison.arms[at];
        if (!arm.observed) continue;
        std::vector<std::string> cells{escape(shortened(arm.spec.name, 100)) + most_activations(arm)};
        std::vector<double> order{std::numeric_limits<double>::quiet_NaN()};
        for (const auto& drawn : classes) {
            order.push_back(drawn.bytes_of(arm.observed->memory.peak.parts));
            cells.push_back(bytes_text(order.back()));
        }
        table.row(cells, order);
    }
    return table.html() + (comparison.arms.size() > shown_arms ? note("Of the arms that plots show.") : "");
}

}  // namespace

std::string memory_section(const Comparison& comparison) {
    const auto unit = unit_of_all(comparison);
    return section("Memory",
                   peaks_figure(comparison, unit) + lines_figure(comparison, unit) + parts_table(comparison));
}

}  // namespace switchyard::compare
