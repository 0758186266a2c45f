// Products with weights in 8 or 4 bits of inputs as they come. Few rows stream the panels, and are made of
// integers (digit_product.h) or of floats; for many the weight is decoded, some outputs at a time, and tiles
// or LibTorch multiply.
#pragma once

#include <ATen/core/Tensor.h>

#include "panels.h"

namespace switchyard::int8 {

// y [R, O] = x [R, I] weight^T + bias [O] (or undefined), in the dtype of x. `variant`: how it was done.
at::Tensor weight_product(const at::Tensor& x_RI, const Panels& weight, const at::Tensor& bias_O,
                          const char*& variant);

}  // namespace switchyard::int8
