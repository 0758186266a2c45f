// What an optimizer hands out as its state and takes back, and what it refuses.
#pragma once

#include <memory>
#include <string>

#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/optimizer_problem.h>

namespace switchyard::conformance {

OptimizerState cloned(const OptimizerState& state);

// What differs, bit by bit, or "".
std::string difference_of(const OptimizerState& found, const OptimizerState& expected);

// A new component that takes the state over goes on with the same bits. Also: two equal runs give the same
// bits.
void check_continuation(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                        std::uint64_t seed, at::Device device, Findings& findings);

// A state that does not fit is refused and leaves the component's own as it was.
void check_bad_states(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                      std::uint64_t seed, at::Device device, Findings& findings);

// bind() refuses parameters that can't be stepped.
void check_bad_parameters(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                          std::uint64_t seed, at::Device device, Findings& findings);

}  // namespace switchyard::conformance
