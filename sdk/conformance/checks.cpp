#include <switchyard/conformance/checks.h>

#include <set>
#include <string>
#include <utility>

namespace switchyard::conformance {
namespace {

using Codes = std::set<std::string>;

const Codes of_any{"accepted_then_threw", "ended_process", "hung",
                   "changed_exit",        "never_served",  "not_in_float64"};
const Codes of_gradients{"wrong_gradient", "wrong_saved"};
const Codes of_robustness{"reads_padding",       "wrong_strides",
                          "stale_state",         "modified_input",
                          "aliases_input",       "not_counted",
                          "wrong_variant",       "nondeterministic",
                          "depends_on_strides",  "depends_on_order",
                          "depends_on_grouping", "accepted_invalid",
                          "changed_state",       "leaks"};

}  // namespace

bool is_about_gradient(const Fault& fault) {
    return of_gradients.contains(fault.code) || fault.detail.starts_with("gradient of ");
}

bool is_looked_for(const Checks& checks, const Fault& fault) {
    if (of_any.contains(fault.code)) return true;
    if (of_robustness.contains(fault.code)) return checks.robustness;
    return is_about_gradient(fault) ? checks.gradients : checks.correctness;
}

void add_case(Report& report, Report found, const Checks& checks) {
    std::erase_if(found.faults, [&](const Fault& fault) { return !is_looked_for(checks, fault); });
    report.cases += found.cases;
    if (!found.faults.empty()) ++report.failed;
    // With robustness outputs and gradients are compared, whether they are looked for or not.
    const bool compared = !checks.robustness || (checks.correctness && checks.gradients);
    if (found.worst_ratio > report.worst_ratio && compared) {
        report.worst_ratio = found.worst_ratio;
        report.worst_case = found.worst_case;
    }
    for (auto& fault : found.faults) report.faults.push_back(std::move(fault));
}

}  // namespace switchyard::conformance
