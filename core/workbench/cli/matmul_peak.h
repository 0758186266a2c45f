// How fast this machine multiplies matrices in the numbers of a plan's linear layers.
#pragma once

#include <optional>

#include <switchyard/interfaces/types.h>
#include "core/kernel/resolver/plan.h"
#include "core/workbench/train/utilization.h"

namespace switchyard::cli {

// Measures for about a tenth of a second, before training: on a machine that others use too, what is measured
// then may be too low, which is why the record of a run has it beside what was made of it. Where layers
// multiply in several dtypes, the highest of their peaks. Not known, nullopt, where any of them multiplies in
// 8 bits or may round to TensorFloat-32, whose products are not measured. Leaves the CPU's memory peak as if
// nothing had been measured.
std::optional<train::MatmulPeak> measure_matmul_peak(const resolver::Plan& plan, Device device);

}  // namespace switchyard::cli
