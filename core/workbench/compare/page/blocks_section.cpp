#include "core/workbench/compare/page/page_sections.h"

#include <cmath>

#include "core/kernel/base/number_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {

using report::Curve;
using report::escape;
using report::LinePlot;
using report::Points;
using report::shortened;

std::string blocks_section(const Comparison& comparison) {
    LinePlot plot{"Time of every block",
                  "One point for each arm and block.",
                  "ms a " + std::string(unit_of(comparison.operation)),
                  {},
                  true,
                  "block"};
    std::size_t outliers = 0;
    for (const auto arm : plotted(comparison)) {
        const auto& result = comparison.arms[arm];
        Points points;
        for (std::size_t i = 0; i < result.blocks.size(); ++i) {
            const auto& block = result.blocks[i];
            if (!block || block->repeated || !std::isfinite(block->sample.ms)) continue;
            if (block->sample.outlier)
                ++outliers;
            else
                points.push_back({static_cast<double>(i + 1), block->sample.ms});
        }
        if (!points.empty())
            plot.curves.push_back({result.spec.name, hue_of(arm), Curve::Look::points, points});
    }
    if (plot.curves.empty()) return "";
    const auto& of_base = comparison.arms[base_at(comparison)].blocks;
    for (std::size_t i = 1; i < of_base.size(); ++i) {
        if (of_base[i] && of_base[i - 1] && of_base[i]->round != of_base[i - 1]->round)
            plot.breaks.push_back(static_cast<double>(i) + 0.5);
    }
    std::string caption = comparison.operation == Operation::step
                              ? "In each block every arm trained on the same batches"
                          : comparison.operation == Operation::generate
                              ? "In each block every arm wrote as many tokens after the same prompts"
                              : "In each block every arm passed over the same samples";
    if (const auto own = of_own_batches(comparison); comparison.operation == Operation::step && !own.empty())
        caption += ", but those of other samples a step than the base's (" + shortened(own, 200) + ")";
    caption += ", in an order drawn anew.";
    if (comparison.rounds > 1)
        caption += " Every arm was started anew " + std::to_string(comparison.rounds - 1) +
                   " times on the way, at the vertical lines.";
    if (const auto disturbed = disturbed_text(comparison.repeated_blocks, comparison.most_of_others());
        !disturbed.empty())
        caption += " Disturbed by others: " + disturbed + ".";
    if (outliers > 0)
        caption += " Left out: " + base::counted(outliers, "sample") +
                   (outliers == 1 ? " that was an outlier." : " that were outliers.");
    return section("Blocks", "<figure>\n" + report::legend(plot.curves) + report::line_plot_for_all(plot) +
                                 "<figcaption>" + escape(caption) + "</figcaption>\n</figure>\n");
}

}  // namespace switchyard::compare
