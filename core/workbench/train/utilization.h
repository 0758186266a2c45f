// Model FLOPs utilization (Chowdhery et al. 2022, PaLM, appendix B): what the steps did of the model's own
// operations (step_flops.h), over what the machine could have multiplied in that time, as measured.
#pragma once

#include <optional>
#include <string>

#include "core/workbench/model/work.h"

namespace switchyard::train {

// The most that matrix products were measured to reach on this machine.
struct MatmulPeak {
    double flops_per_second = 0.0;
    std::string dtype;  // "float32"
    std::string of;     // what reached it: "mm of 1024 x 1024"
};

struct Utilization {
    std::optional<model::Work> costs;  // operations of one unit each; none: not known
    std::optional<MatmulPeak> peak;    // none: not known

    // Nothing where operations or peak are not known, or no time went by.
    std::optional<double> of(const model::Work& work, double seconds) const;
};

}  // namespace switchyard::train
