// One case of an optimizer on the component.
#pragma once

#include <memory>

#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/optimizer_problem.h>

namespace switchyard::conformance {

void run_optimizer(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                   std::uint64_t seed, at::Device device, Findings& findings);

}  // namespace switchyard::conformance
