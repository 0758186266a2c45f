// The norm of the gradients of a step of which ranks have parts: all of them need it before they step theirs.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/distributed/group.h"

namespace switchyard::train {

// Of all values, in float64. Not finite: a gradient is not.
double squares_of(const std::vector<at::Tensor>& gradients);

// After unscaling; 0, and `squares` is not asked, where the step needs no norm. Not finite: a gradient is
// not, on this rank or on another. `squares`: the sum of squared values, not unscaled, of what this rank
// counts: each value of the gradients counts on one rank.
double norm_over_ranks(distributed::Group& ranks, const runtime::OptimizerOp& optimizer,
                       const StepParams& params, const std::function<double()>& squares);

// Of a step that is not made, for its norm is not finite.
StepResult without_step(double norm);

}  // namespace switchyard::train
