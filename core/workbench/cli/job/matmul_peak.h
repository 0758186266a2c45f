// How fast this machine multiplies matrices in the numbers of a plan's linear layers.
#pragma once

#include <optional>
#include <string>

#include <switchyard/interfaces/types.h>
#include "core/kernel/resolver/plan.h"
#include "core/workbench/train/utilization.h"

namespace switchyard::cli {

// Measures for about a tenth of a second, before training, and for a third of that where a peak is kept.
// Whatever else runs on the machine makes a peak lower and nothing makes it higher: of a CPU the highest that
// was ever measured is kept in `folder`, a file for each dtype, and is what holds. For a day after all
// products were measured only the one that reached a kept peak is measured again, for a hundredth of a
// second, and the others where it gets higher than it was: then other work had made the peak too low.
// `folder` is that of one host, number of threads and LibTorch (measurement_cache.h); empty: nothing is kept.
// Where layers multiply in several dtypes, the highest of their peaks. Not known, nullopt, where any of them
// multiplies in 8 bits or may round to TensorFloat-32, whose products are not measured. Leaves the CPU's
// memory peak as if nothing had been measured.
std::optional<train::MatmulPeak> measure_matmul_peak(const resolver::Plan& plan, Device device,
                                                     const std::string& folder);

// The higher one of this peak and of what `folder` keeps for its dtype, which it is from now on. What cannot
// be read or written is no error: the peak is then that of this run alone.
train::MatmulPeak highest_matmul_peak(const train::MatmulPeak& now, const std::string& folder);

// The same of any rate, as that of memory: kept in the file NAME.peak.
struct MeasuredRate {
    double per_second = 0.0;
    std::string name;
    std::string of;  // what reached it
};
MeasuredRate highest_rate(const MeasuredRate& now, const std::string& folder);

}  // namespace switchyard::cli
