// What a run over cases found.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace switchyard::conformance {

// Codes, stable for programs that read JSON output:
//   wrong_output wrong_gradient wrong_mask        values that differ from the oracle by more than the
//     allowance
//   reads_padding wrong_strides stale_state       the same, but right without poison around / with dense
//     inputs / without a call in between
//   nan wrong_shape wrong_dtype wrong_device missing_output    no values to judge
//   modified_input aliases_input wrong_saved      breaches of ownership
//   wrong_form                                    what a linear layer prepared of a weight
//   not_counted wrong_variant nondeterministic    claims that do not hold
//   wrong_update changed_on_found_inf wrong_norm missed_found_inf wrong_state wrong_parts     optimizers
//   wrong_batch wrong_labels wrong_padding lost_sample duplicate_sample wrong_order wrong_position
//     ranks_overlap     data loaders
//   wrong_policy wrong_state wrong_operand        precision policies
//   changed_state                                 what all code of a process shares (process_state.h)
//   ended_process hung changed_exit               where each case runs in a process that may end
//     (`switchyard plugins verify`)
//   not_in_float64 never_served                   a formula of a component's own without an oracle, or that
//     supports never accepts
//   accepted_then_threw                           `supports` said yes, the call threw
//   accepted_invalid                              what the contract refuses with std::invalid_argument was
//     taken
struct Fault {
    std::string code;
    std::string where;        // the case, e.g. "attention/packed/causal+alibi/f32/H4K2/N129"
    std::string detail;       // what was expected, what came
    std::int64_t drawn = -1;  // the number of the drawn case; -1: a listed one
};

struct Report {
    std::string component;     // "plugin/id"
    std::int64_t cases = 0;    // that ran; of a run that only asks: that are served
    std::int64_t failed = 0;   // with at least one fault
    std::int64_t skipped = 0;  // listed ones that `supports` refused
    std::int64_t drawn = 0;    // drawn ones among `cases`
    std::vector<Fault> faults;
    std::map<std::string, std::int64_t> skip_reasons;  // "head_dim: expected a multiple of 8, got 7" -> cases
    // Of a run that only asks: every listed case, with what `supports` said.
    struct Support {
        std::string where;
        std::vector<std::string> refused;  // the reasons; empty: it is served
    };
    std::vector<Support> support;

    // How close the closest case came to its allowance (above 1: a fault), and which case that was.
    double worst_ratio = 0.0;
    std::string worst_case;

    bool ok() const { return faults.empty() && cases > 0; }
};

}  // namespace switchyard::conformance
