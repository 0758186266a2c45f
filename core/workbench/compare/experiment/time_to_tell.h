// What it would take to tell two arms apart that a comparison could not.
//
// No LibTorch here.
#pragma once

#include <string>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// "+-1.0 % would take about 240 blocks (--time 1500), fewer on a quieter machine": by how intervals shrink,
// with the root of the number of blocks; of several rounds with that of rounds, each of which has one value.
// Aimed at is half of same_margin, by which arms of one speed are found to be the SAME, or half of a
// difference that is larger than it. "": the interval is narrower, there is none, or more blocks cannot be
// had.
std::string time_to_tell(const Comparison& comparison, const PairResult& pair);

}  // namespace switchyard::compare
