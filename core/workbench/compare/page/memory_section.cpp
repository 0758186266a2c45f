#include "core/workbench/compare/page/page_sections.h"

#include <algorithm>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {
namespace {

using base::bytes_text;
using report::BarPlot;

double peak_bytes(const ArmResult& arm) { return static_cast<double>(arm.peak_memory_bytes); }

}  // namespace

std::string memory_section(const Comparison& comparison) {
    BarPlot plot{"Peak memory", "", "", {}};
    double largest = 0.0;
    for (const auto& arm : comparison.arms) largest = std::max(largest, peak_bytes(arm));
    const double unit = largest >= 1e9 ? 1e9 : largest >= 1e6 ? 1e6 : 1e3;
    plot.x_label = std::string("live tensor bytes at their most, ") + (unit == 1e9   ? "GB"
                                                                       : unit == 1e6 ? "MB"
                                                                                     : "kB");
    for (const auto arm : plotted(comparison)) {
        const auto& result = comparison.arms[arm];
        if (result.peak_memory_bytes < 0) continue;
        const double size = peak_bytes(result) / unit;
        plot.bars.push_back({result.spec.name, bytes_text(peak_bytes(result)),
                             base::Interval{size, size, size}, hue_of(arm)});
        base::add_item(plot.description, result.spec.name + ": " + plot.bars.back().label, "; ");
    }
    return plot.bars.empty()
               ? ""
               : section("Memory", "<figure>\n" + report::bar_plot_for_all(plot) + "</figure>\n");
}

}  // namespace switchyard::compare
