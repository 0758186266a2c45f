// What an optimizer is held to whose algorithm nobody else knows: properties that every algorithm has.
//
//     quadratic, regression   a convex problem is solved at one of several rates   does_not_converge
//     unscaling               gradients times s, divided by s: the same step       not_unscaled
//     clipping                by the norm of all: as of gradients clipped before   wrong_clip
//     no_rate                 lr = 0 changes no parameter                          changed_without_rate
//     rate_tensor             lr_factor_tensor is a factor of lr                   wrong_rate
//     decay                   weight_decay changes something                       ignores_decay
//     groups                  a group is stepped by its own numbers, as if alone   wrong_group
//     splitting               how a list is cut into groups does not matter        depends_on_grouping
//     order                   nor how it is ordered                                depends_on_order
//     strides                 nor how gradients lie in memory                      depends_on_strides
//     master                  master weights go the way of float32 parameters      ignores_master
//
// Two runs are the same where each parameter's difference is below a hundredth of how far it has come, and
// what rounding it so many times makes: what takes signs or roots may jump for single values where sums are
// rounded in another order, and each of these faults is larger than that.
#pragma once

#include <memory>

#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/optimizer_problem.h>

namespace switchyard::conformance {

// Of the gradients as they are set, divided by the scale that the problem has.
double norm_of_gradients(OptimizerProblem& problem);

void check_property(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                    std::uint64_t seed, at::Device device, Findings& findings);

}  // namespace switchyard::conformance
