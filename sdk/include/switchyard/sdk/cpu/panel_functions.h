// How numbers are put in the order that LibTorch's brgemm reads them in, whichever vectors the processor has:
// made by panels-inl.h. Since 1.0.
//
// A right operand of 16-bit numbers stands in pairs of rows side by side, [k / 2][columns][2], which the
// processor's dot products read (VNNI).
#pragma once

#include <cstdint>

namespace switchyard {

struct PanelFunctions {
    // [n, m] from [m, n]; strides in elements. Any m and n.
    void (*transpose32)(const std::uint32_t* x, std::int64_t m, std::int64_t n, std::int64_t ldx,
                        std::uint32_t* out, std::int64_t ldo) = nullptr;
    void (*transpose16)(const std::uint16_t* x, std::int64_t m, std::int64_t n, std::int64_t ldx,
                        std::uint16_t* out, std::int64_t ldo) = nullptr;
    // out[2 i] = a[i], out[2 i + 1] = b[i].
    void (*interleave)(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n,
                       std::uint16_t* out) = nullptr;
};

}  // namespace switchyard
