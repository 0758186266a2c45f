// float32 to bfloat16, up or down by chance, so that the mean over many roundings is the value itself (Gupta
// et al. 2015, arXiv:1502.02551): what a step adds to a weight is then not lost where it is smaller than half
// the distance between two bfloat16 numbers.
//
// The chance is the core's counter-based generator (<switchyard/interfaces/dropout.h>): a value's 16 lower
// bits plus its 16-bit number carry into the upper half or not, which is exact: P(up) is the lower half /
// 2^16. Element e of tensor t in step s reads
//
//     dropout_number(stochastic_seed(s), {document t, head 0, row e / 2048, column e % 2048})
//
// A value that bfloat16 holds stays; so do Inf and NaN, and what would round to Inf is cut instead.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/dropout.h>

namespace switchyard::fused {

constexpr std::int64_t stochastic_row = 2048;

constexpr std::uint64_t stochastic_seed(std::int64_t step) {
    return site_seed(0x726F756E64696E67U, static_cast<std::uint64_t>(step), 0);
}

// A row of at most `stochastic_row` values of a tensor, the row-th; bfloat16 as its bits.
void round_stochastically(const float* values, std::int64_t n, std::uint64_t seed, std::uint32_t tensor,
                          std::uint32_t row, std::uint16_t* rounded);

}  // namespace switchyard::fused
