// What the pages of comparisons and of benches of inference have in common: pieces of HTML.
//
// No LibTorch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/run_record.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {

using report::note;
using report::section;

// Of plots: the eight of the style sheet in turn.
report::Hue hue_of(std::size_t arm);
// A dash for what is not known.
std::string page_value(double value, int significant = 3);
// The bounds of a single sample are not known: then it stands alone. Nothing: there is no value.
std::optional<base::Interval> known(const base::Interval& interval);

// A ratio in a cell of a table: what does not fit beside its median stands below it.
std::string ratio_cell(const base::Interval& ratio);

// Beside a value, smaller; "" where there is nothing to say.
std::string why(const std::string& reason);
std::string notice(const std::string& text);

// "crashed: ended with exit code 1".
std::string status_text(const ArmOutcome& arm);
// What is not fair about these arms, and which of them failed.
std::string arm_notices(const std::vector<const ArmOutcome*>& arms);
// A table of facts, those without a value left out, the command last.
std::string facts_table(const std::vector<report::Fact>& facts, const std::string& command);

}  // namespace switchyard::compare
