// Products of a few rows of floats with a weight in 8 or 4 bits that are made of integers (digit_kernels.h).
#pragma once

#include <cstdint>

#include "panels.h"

namespace switchyard::int8 {

// y [rows, out] = x [rows, in] times a weight (panels.h, weight_panels) + bias, which may be nullptr. By
// which instructions it was made; nullptr, and nothing is written, where this processor has none for it, or
// where x has NaN or infinity, which no integer means, or a block of columns smaller than 2^-104.
const char* digit_product(const float* x, std::int64_t rows, const Panels& weight, const float* bias,
                          float* y);

}  // namespace switchyard::int8
