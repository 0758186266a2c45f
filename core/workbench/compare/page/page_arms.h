// Arms as the page of a comparison shows them: in which order, which of them in plots, in what they differ.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// In plots; more are in the tables only.
inline constexpr std::size_t shown_arms = 12;

// What all pairs are over: its name, "" where there are no pairs, and its index.
std::string base_of(const Comparison& comparison);
std::size_t base_at(const Comparison& comparison);

// The fastest over the base first, the base among them; those without a ratio last, in their own order.
std::vector<std::size_t> by_speed(const Comparison& comparison);
// Of these as many as plots show, the base always.
std::vector<std::size_t> plotted(const Comparison& comparison);

// Of these the names of those that trained other samples than the base in a step (ArmSpec::own_batches):
// "ranks=2, large"; "" where all trained the same.
std::string of_own_batches(const Comparison& comparison);

// Keys that are not set alike in all arms, in the order in which they come.
std::vector<std::string> differing_keys(const Comparison& comparison);

}  // namespace switchyard::compare
