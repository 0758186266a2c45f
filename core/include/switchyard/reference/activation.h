// dropout(act(x + bias)) as <switchyard/interfaces/activation.h> states it, in plain ATen calls that autograd
// follows, in the dtype of x.
#pragma once

#include <switchyard/interfaces/activation.h>

namespace switchyard::reference {

// Throws std::invalid_argument when the inputs do not fit each other.
at::Tensor activation(const ActivationInputs& inputs, const ActivationParams& params);

}  // namespace switchyard::reference
