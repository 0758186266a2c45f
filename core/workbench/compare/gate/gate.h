// A comparison as a gate of continuous integration: what may not become worse, and whether it has.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// What `--fail-on` names.
struct GateRules {
    std::optional<double> slower;  // share by which an arm may take longer than the base
    std::optional<double> memory;  // by which its peak may be larger
    bool drift = false;            // its first step has to be the base's, but for rounding
    std::optional<bench::LossMargin> loss;

    bool any() const { return slower || memory || drift || loss; }
};

// "slower:3%,memory:5%,drift,loss:0.02"; returns what is wrong, or "".
std::string read_gate_rules(const std::string& text, GateRules& rules);

// fine: shown to hold;  regression: shown not to hold;  cannot_tell: neither;  numerics: it computes
// something else; failed: the arm did not run to its end.
enum class GateOutcome : std::uint8_t { fine, regression, cannot_tell, numerics, failed };

struct GateFinding {
    std::string arm;
    std::string rule;  // "slower:3%"; "ran" of an arm that failed
    GateOutcome outcome = GateOutcome::fine;
    std::string text;  // why, with numbers
};

struct GateResult {
    std::vector<GateFinding> findings;  // of each arm but the base, each rule

    // The worst: 1 an arm failed, 5 numerics, 3 a regression, 4 cannot tell, 0 fine.
    int exit_code() const;
};

// An arm that is WRONG is `numerics` whatever the rules are.
GateResult pass_gate(const Comparison& comparison, const GateRules& rules);

}  // namespace switchyard::compare

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 5> names<compare::GateOutcome>{
    "fine", "REGRESSION", "CANNOT_TELL", "NUMERICS", "FAILED"};
}  // namespace switchyard
