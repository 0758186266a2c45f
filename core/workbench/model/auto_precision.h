// What precision.parameter_dtype = "auto" and precision.loss_scaling = "auto" become: what the policy that is
// bound asks for. Changing precision is then a change of one word.
//
// parameter_dtype: the first of float32, bfloat16, float16 and float64 that the policy serves. loss_scaling:
// on where the policy serves it for training; one whose range needs none refuses it.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/resolver/resolver.h"

namespace switchyard::model {

// The precision slot's row: what `auto` became stands in its request, and in its notes in words. Where what
// is written contradicts the policy, the row's error says what to do; where it does without what the policy
// has against underflow, a warning does.
resolver::PlanRow resolve_precision(const config::Config& config,
                                    const std::vector<resolver::Candidate>& candidates, const HostInfo& host,
                                    const resolver::ResolveOptions& options);

// The configuration with what `auto` became in that plan.
config::Config with_precision_of(config::Config config, const resolver::Plan& plan);
config::Config with_precision_of(config::Config config, const resolver::PlanRow& precision);

}  // namespace switchyard::model
