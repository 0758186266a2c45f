// One float to the bits of a float8, in whole numbers: for the kernel of a device, and tested on the CPU
// against the same fixtures as the other casts.
// Rounds to nearest, ties to even, and saturates; NaN stays NaN.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SWITCHYARD_FP8_BOTH __host__ __device__ __forceinline__
#else
#define SWITCHYARD_FP8_BOTH inline
#endif

namespace switchyard::fp8 {

struct E4M3 {
    static constexpr int mantissa = 3, bias = 7;
    static constexpr std::uint32_t largest = 0x43E00000;  // 448 as a float
};
struct E5M2 {
    static constexpr int mantissa = 2, bias = 15;
    static constexpr std::uint32_t largest = 0x47600000;  // 57344
};

SWITCHYARD_FP8_BOTH std::uint32_t bits_of(float x) {
    std::uint32_t bits = 0;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

SWITCHYARD_FP8_BOTH float float_of(std::uint32_t bits) {
    float x = 0.0F;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

template <class Format>
SWITCHYARD_FP8_BOTH std::uint8_t float8_bits(float x) {
    constexpr int dropped = 23 - Format::mantissa;
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - Format::bias) << 23;
    // A number whose last place is the smallest float8: adding it rounds to that place.
    constexpr std::uint32_t rounder = static_cast<std::uint32_t>(127 + 24 - Format::bias - Format::mantissa)
                                      << 23;
    const std::uint32_t sign = bits_of(x) >> 24 & 0x80U;
    std::uint32_t magnitude = bits_of(x) & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint8_t>(sign | 0x7FU);
    if (magnitude > Format::largest) magnitude = Format::largest;
    if (magnitude < smallest_normal) {
        const std::uint32_t rounded = bits_of(float_of(magnitude) + float_of(rounder)) - rounder;
        return static_cast<std::uint8_t>(sign | rounded);
    }
    magnitude += (1U << (dropped - 1)) - 1U + (magnitude >> dropped & 1U);
    const std::uint32_t exponent_offset = static_cast<std::uint32_t>(127 - Format::bias) << Format::mantissa;
    return static_cast<std::uint8_t>(sign | ((magnitude >> dropped) - exponent_offset));
}

}  // namespace switchyard::fp8
