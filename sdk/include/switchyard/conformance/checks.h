// What a run looks for. All of it by default: each case then lies among NaN, with strides, with other calls
// in between, and outputs and gradients are compared. A run that looks for less does less.
#pragma once

#include <switchyard/conformance/report.h>

namespace switchyard::conformance {

struct Checks {
    bool correctness = true;  // outputs, and whatever else a kind's component makes, against the oracle
    bool gradients = true;    // those of operations, against the oracle's
    // All that values of a single call on dense inputs do not show: padding, strides, what is around the
    // inputs, several shapes in turn, equal calls, ownership, state of the process, memory that is kept.
    bool robustness = true;

    bool only_gradients() const { return gradients && !correctness && !robustness; }
};

// Of the gradients of an operation, and not of what it makes.
bool is_about_gradient(const Fault& fault);

// Whether a fault is one of those that are looked for. What ends a process or is thrown always is.
bool is_looked_for(const Checks& checks, const Fault& fault);

// Adds to a report what one case found, as far as it is looked for.
void add_case(Report& report, Report found, const Checks& checks);

}  // namespace switchyard::conformance
