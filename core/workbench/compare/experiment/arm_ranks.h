// Arms whose steps several ranks share: "ranks=2" stands among the values of an arm, beside the keys of the
// configuration.
//
// No LibTorch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// The values that are keys of the configuration.
std::vector<std::string> without_ranks(const std::vector<std::string>& overrides);

// Takes ArmSpec::ranks from the values; what is wrong with them, or "".
std::string read_ranks(ArmSpec& arm);

// Samples a second of all ranks, of as many times what a rank of the base trains. Nothing where the two
// differ in anything but their number, or a rank of one has more threads.
std::optional<base::Interval> parallel_efficiency(const Comparison& comparison, const PairResult& pair);

// "parallel efficiency of 2 ranks, base: 94.1 % [93.0, 95.2]"; "" where there is none.
std::string efficiency_text(const Comparison& comparison, const PairResult& pair);

}  // namespace switchyard::compare
