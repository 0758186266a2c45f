// A comparison of training runs as one HTML page that needs nothing from outside: ratios with their
// intervals, losses over each other, memory, every block, drift, what ran.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"
#include "core/workbench/report/run_record.h"

namespace switchyard::compare {

// What was compared, where and by which command; what is empty is not shown.
struct ComparisonFacts {
    std::string title;
    std::string config;
    std::string config_fingerprint;
    std::string command;
    std::vector<report::Fact> host;
    std::string first_section = {};  // HTML that comes before all others: a ladder
};

// The whole document, below 500 KB whatever it holds: curves are thinned out, and more than twelve arms are
// in the tables only, and not in that of memory.
std::string comparison_page(const Comparison& comparison, const ComparisonFacts& facts);

}  // namespace switchyard::compare
