#include "core/workbench/compare/page/page_sections.h"

#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/profile/drawn_roofs.h"
#include "core/workbench/report/svg_roofline.h"

namespace switchyard::compare {
namespace {

using report::escape;
using report::page_number;

// ", 41 % of its products in bfloat16"; "" where these were not measured.
std::string share_of_products(const ArmResult& arm, double rate, const profile::Roofs& roofs) {
    for (const auto& [dtype, most] : roofs.products) {
        if (arm.dtype == name(dtype) && most > 0.0)
            return ", " + page_number(100.0 * rate / most, 2) + " % of the products in " + arm.dtype;
    }
    return "";
}

}  // namespace

std::string roofline_section(const Comparison& comparison) {
    auto plot = profile::roofline_below(comparison.roofs, "Roofline of the arms");
    std::vector<report::Curve> curves;
    for (const auto at : plotted(comparison)) {
        const auto& arm = comparison.arms[at];
        const double rate = comparison.flops_per_second(at);
        if (!(rate > 0.0)) continue;
        const auto& cost = arm.observed->cost;
        const double bytes = cost.read + cost.written;
        if (!(bytes > 0.0)) continue;
        const auto label = page_number(rate * 1e-9) + " GFLOP/s at " + page_number(cost.flops / bytes) +
                           " operations a byte" + share_of_products(arm, rate, comparison.roofs);
        plot.dots.push_back({arm.spec.name, label, cost.flops / bytes, rate, 0.05, hue_of(at)});
        curves.push_back({arm.spec.name + ": " + label, hue_of(at), report::Curve::Look::points, {}});
        base::add_item(plot.description, arm.spec.name + ": " + label, "; ");
    }
    if (plot.dots.empty() || plot.ceilings.empty()) return "";
    return section(
        "Roofline",
        "<figure>\n" + report::legend(curves) + report::roofline_for_all(plot) + "<figcaption>" +
            escape(
                "What a whole step of each arm reaches in blocks, below what the machine was measured to do "
                "after them: " +
                profile::lines_of_roofs(comparison.roofs) +
                ". Operations and bytes were counted in one observed step: what is computed again counts, "
                "and bytes are the inputs of each part read once and its outputs written once, so that an "
                "arm may lie above the sloped lines where caches serve it. switchyard profile draws the "
                "parts of a step.") +
            "</figcaption>\n</figure>\n");
}

}  // namespace switchyard::compare
