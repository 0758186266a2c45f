// A contrast of arms: a sum of logarithms of their speeds with weights that add up to nothing, block by
// block. The machine's mood cancels in it as it does in a ratio, which is the contrast of two arms.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <map>

#include "core/workbench/bench/measure/ratio_estimate.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

using ArmWeights =
    std::map<std::size_t, double>;  // of arms, by index; positive: larger where the arm is faster

// Over the blocks in which all these arms count.
bench::RatioEstimate contrast(const Comparison& comparison, const ArmWeights& weights);

}  // namespace switchyard::compare
