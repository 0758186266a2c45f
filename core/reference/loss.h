// Cross-entropy as <switchyard/interfaces/loss.h> states it, in plain ATen calls that autograd follows.
//
// Only the rows that count are projected: logits in the dtype of x, log-sum-exp and what follows in float32
// at least.
#pragma once

#include <switchyard/interfaces/loss.h>

namespace switchyard::reference {

// Throws std::invalid_argument when the inputs do not fit each other.
LossOutputs loss(const LossInputs& inputs, const LossParams& params);

}  // namespace switchyard::reference
