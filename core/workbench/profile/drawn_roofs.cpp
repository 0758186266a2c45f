#include "core/workbench/profile/drawn_roofs.h"

#include "core/workbench/report/number_text.h"

namespace switchyard::profile {

report::Roofline roofline_below(const Roofs& roofs, const std::string& title) {
    report::Roofline plot{title, "", {}, {}, {}};
    for (const auto& [dtype, flops] : roofs.products)
        plot.ceilings.push_back({"products in " + std::string(name(dtype)), flops});
    if (roofs.copy > 0.0) plot.slopes.push_back({"copy", roofs.copy, false});
    if (roofs.read > 0.0) plot.slopes.push_back({"read", roofs.read, true});
    return plot;
}

std::string lines_of_roofs(const Roofs& roofs) {
    return "flat lines are its products, sloped ones its memory, copying (" +
           report::page_number(roofs.copy * 1e-9) + " GB/s) and, dashed, reading (" +
           report::page_number(roofs.read * 1e-9) + " GB/s). Both axes are in powers of ten";
}

}  // namespace switchyard::profile
