// From the turns that arms took to what is said of them (judge_arms.cpp, judge_passes.cpp), and of two of
// them (judge_pairs.cpp).
//
// No LibTorch here.
#pragma once

#include <span>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// A sample is an outlier by its time for each token: blocks have other texts, and take longer for that.
void mark_outlier_blocks(ArmResult& arm);

// Marks outliers, and fills in times and rates.
void summarise_arms(Comparison& comparison);

// The arm that the others are held against: the first that works.
std::size_t base_index(const Comparison& comparison);

// Every arm that is ok against the first that is. `margin`: within which two are the SAME.
void judge_pairs(Comparison& comparison, double margin);

// Of a value from the base's.
double relative_difference(double value, double base);

// Of passes, against the first arm that is ok: the mean loss of a forward pass, which says more than that of
// the first samples, and which every arm tells; or the tokens that a generation wrote.
void judge_passes(Comparison& comparison);

// Whether each arm's training stayed stable, against the first that is ok where they may be compared.
void judge_stabilities(Comparison& comparison);

// The mean over those of the last tenth of the steps that were not skipped: a single step's loss says little.
// NaN where all were skipped.
double final_loss(std::span<const double> losses, const std::vector<bool>& skipped);

}  // namespace switchyard::compare
