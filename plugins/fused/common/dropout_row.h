// Dropout of hidden states as kernels see it: numbers of one row at a time
// (<switchyard/interfaces/dropout.h>).
#pragma once

#include <cstdint>

namespace switchyard::fused {

struct RowPosition {
    std::uint32_t document = 0, row = 0;
};

struct RowDropout {
    std::uint64_t seed = 0;
    std::uint32_t threshold = 0;
    float keep_scale = 1.0F;
    const RowPosition* positions = nullptr;  // of each row; nullptr: no dropout

    bool active() const { return positions != nullptr; }
};

// Space for the numbers of a row: whole groups of 64 columns, and what a vector kernel writes past them.
constexpr std::int64_t numbers_of(std::int64_t width) { return (width + 63) / 64 * 64 + 256; }

}  // namespace switchyard::fused
