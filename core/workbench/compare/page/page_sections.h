// The parts of a comparison's page, each HTML of its own; "" where the comparison has nothing for it.
//
// No LibTorch here.
#pragma once

#include <string>

#include "core/workbench/compare/experiment/comparison.h"
#include "core/workbench/compare/page/comparison_page.h"

namespace switchyard::compare {

// Who won, in one sentence: plain text.
std::string headline(const Comparison& comparison);

std::string head_section(const Comparison& comparison, const ComparisonFacts& facts);
std::string speed_section(const Comparison& comparison);
std::string effects_section(const Comparison& comparison);
std::string generation_section(const Comparison& comparison);
std::string loss_section(const Comparison& comparison);
std::string evaluation_section(const Comparison& comparison);
std::string stability_section(const Comparison& comparison);
std::string roofline_section(const Comparison& comparison);
std::string memory_section(const Comparison& comparison);
std::string blocks_section(const Comparison& comparison);
std::string drift_section(const Comparison& comparison);
std::string executed_section(const Comparison& comparison);

}  // namespace switchyard::compare
