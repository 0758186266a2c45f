// What is said of arms whose steps several ranks share (arm_keys.h).
//
// No LibTorch here.
#pragma once

#include <optional>
#include <string>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// Samples a second of all ranks, of as many times what a rank of the base trains. Nothing where the two
// differ in anything but their number, or a rank of one has more threads.
std::optional<base::Interval> parallel_efficiency(const Comparison& comparison, const PairResult& pair);

// "parallel efficiency of 2 ranks, base: 94.1 % [93.0, 95.2]"; "" where there is none.
std::string efficiency_text(const Comparison& comparison, const PairResult& pair);

}  // namespace switchyard::compare
