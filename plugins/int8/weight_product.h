// Products with weights in 8 or 4 bits of inputs as they come: made of floats. Few rows stream the panels;
// for many the weight is decoded, some outputs at a time, and LibTorch multiplies.
#pragma once

#include <ATen/core/Tensor.h>

#include "panels.h"

namespace switchyard::int8 {

// y [R, O] = x [R, I] weight^T + bias [O] (or undefined), in the dtype of x. `streamed`: how it was done.
at::Tensor weight_product(const at::Tensor& x_RI, const Panels& weight, const at::Tensor& bias_O,
                          bool& streamed);

}  // namespace switchyard::int8
