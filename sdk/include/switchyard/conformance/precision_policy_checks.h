// What a precision policy says and keeps from step to step.
#pragma once

#include <memory>

#include <switchyard/conformance/free_case.h>
#include <switchyard/interfaces/precision.h>

namespace switchyard::conformance {

struct PolicyCase {
    std::shared_ptr<const PrecisionRequest> request;
    std::uint64_t seed = 0;
    at::Device device = at::kCPU;
};

// Dtypes of every class of operation: floating, and the same from every component of the request and at any
// time.
void check_declared(const PolicyCase& one, Findings& findings);

// 1 where nothing is scaled; else positive, never growing by a non-finite gradient nor shrinking by finite
// ones.
void check_loss_scale(const PolicyCase& one, Findings& findings);

// Weights that are quantized change between steps, by kernels that tell nobody, too; several micro-batches
// share a step.
void check_steps(const PolicyCase& one, Findings& findings);

// A recomputed call has operands of the same bits and leaves the state as it was.
void check_recompute(const PolicyCase& one, Findings& findings);

// A new component that takes the state over goes on as the first does.
void check_policy_state(const PolicyCase& one, Findings& findings);

}  // namespace switchyard::conformance
