// What a ShardedOptimizer makes of parts of the parameters.
#pragma once

#include <memory>

#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/optimizer_problem.h>

namespace switchyard::conformance {

// Two components that each step a part of all values against one that steps everything: parameters and states
// are the same bits, with clipping and on a device nearly. Nothing to check where the component does not step
// parts.
void check_parts(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                 std::uint64_t seed, at::Device device, Findings& findings);

}  // namespace switchyard::conformance
