// What a gate found, for the programs that show it: JUnit's XML, Markdown for a comment, annotations of
// GitHub.
//
// No LibTorch here.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/gate/gate.h"

namespace switchyard::compare {

nlohmann::ordered_json to_json(const GateResult& result);

// For a terminal: one line a finding, those that are not fine with their reason.
std::string gate_text(const GateResult& result);

// One test case for each arm and rule: failures are regressions, numerics and what cannot be told, errors are
// arms that did not run.
std::string junit_xml(const GateResult& result, double seconds);

// A table of arms, and below it what is not fine. `title`: what was compared, `command`: how.
std::string markdown(const Comparison& comparison, const GateResult& result, const std::string& title,
                     const std::string& command);

// Workflow commands, a line for each finding that is not fine: errors, and warnings of what cannot be told.
std::string github_annotations(const GateResult& result);

}  // namespace switchyard::compare
