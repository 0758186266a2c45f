// The classes of memory as pages draw and tables tell them: the same names and colors on each, those that are
// small or of one nature together.
//
// No LibTorch here.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/profile/memory_profile.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::profile {

struct DrawnMemory {
    std::string name;
    report::Hue hue;
    std::vector<MemoryClass> of;

    double bytes_of(const Parts& parts) const;
};

// In the order in which bands lie upon each other, the lowest first: what is there all the time, then what
// comes and goes.
const std::vector<DrawnMemory>& drawn_memory();

}  // namespace switchyard::profile
