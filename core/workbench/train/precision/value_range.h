// How large the values of tensors are, and what would become of them in each candidate format.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include <ATen/core/Tensor.h>

#include "core/workbench/train/precision/number_format.h"

namespace switchyard::train {

// Of the finite values that are not zero.
struct FormatFit {
    std::uint64_t overflow = 0;   // too large: infinity, or NaN in E4M3, unless the cast saturates
    std::uint64_t subnormal = 0;  // kept with fewer digits
    std::uint64_t flushed = 0;    // too small: zero
};

struct ValueRange {
    std::uint64_t count = 0, zeros = 0, nans = 0, infinities = 0;
    double smallest =
        std::numeric_limits<double>::infinity();  // magnitude that is not zero; infinity: there was none
    double largest = 0.0;                         // finite magnitude
    std::array<FormatFit, candidate_formats.size()> formats;

    // All values of a floating-point tensor, on whichever device; others are left out.
    void add(const at::Tensor& tensor);
    void add(const ValueRange& other);

    bool any() const { return largest > 0.0; }
    std::uint64_t not_finite() const { return nans + infinities; }
};

}  // namespace switchyard::train
