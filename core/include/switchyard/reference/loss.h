// The losses as <switchyard/interfaces/loss.h> states them, in plain ATen calls that autograd follows.
//
// Of cross-entropy only the rows that count are projected: logits in the dtype of x, log-sum-exp and what
// follows in float32 at least.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/loss.h>

namespace switchyard::reference {

// Throws std::invalid_argument when the inputs do not fit each other.
LossOutputs loss(const LossInputs& inputs, const LossParams& params);

// What the sum of the rows' losses is divided by, `count` being how many rows or values count; 1 where losses
// of single rows are asked for.
double divisor_of(const LossParams& params, std::int64_t count);

// x [rows, any] with zeros in the rows whose target is ignored: a NaN there is to reach no sum over rows. x
// itself where no row is, as far as that can be seen without waiting for a device.
at::Tensor without_ignored(const at::Tensor& x, const at::Tensor& targets, std::int64_t ignore_index);

}  // namespace switchyard::reference
