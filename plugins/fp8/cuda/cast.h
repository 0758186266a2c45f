// Scaling, casting and finding the largest magnitude in one sweep over memory. What a thread does is here,
// for the device and for tests on the CPU.
#pragma once

#include <cstdint>

#include "float8_bits.h"

namespace switchyard::fp8 {

struct DeviceCast {
    const void* x = nullptr;       // `count` values, end to end
    bool bfloat16 = true;          // else float32
    bool e5m2 = false;             // else E4M3
    std::uint8_t* out = nullptr;   // `count`
    const float* scale = nullptr;  // one
    std::uint32_t* amax_bits =
        // one, 0 before: the largest magnitude's bits, which order as the floats do, infinity and NaN above
        nullptr;
    std::int64_t count = 0;
    int device = 0;
};

SWITCHYARD_FP8_BOTH float value_at(const float* x, std::int64_t i) { return x[i]; }
SWITCHYARD_FP8_BOTH float value_at(const std::uint16_t* x, std::int64_t i) {
    return float_of(static_cast<std::uint32_t>(x[i]) << 16);
}

// Fours of values: `first`, first + stride, ... What is left at the end is one value for each of the first
// threads. The largest magnitude's bits.
template <class Format, class Storage>
SWITCHYARD_FP8_BOTH std::uint32_t cast_part(const DeviceCast& call, std::int64_t first, std::int64_t stride) {
    const auto* x = static_cast<const Storage*>(call.x);
    const float scale = *call.scale;
    std::uint32_t amax = 0;
    const auto one = [&](std::int64_t i) {
        const float value = value_at(x, i);
        const std::uint32_t magnitude = bits_of(value) & 0x7FFFFFFFU;
        amax = magnitude > amax ? magnitude : amax;
        return static_cast<std::uint32_t>(float8_bits<Format>(value * scale));
    };
    const std::int64_t fours = call.count / 4;
    for (std::int64_t four = first; four < fours; four += stride) {
        const std::int64_t i = 4 * four;
        const std::uint32_t codes = one(i) | one(i + 1) << 8 | one(i + 2) << 16 | one(i + 3) << 24;
        memcpy(call.out + i, &codes, sizeof(codes));
    }
    for (std::int64_t i = 4 * fours + first; i < call.count; i += stride)
        call.out[i] = static_cast<std::uint8_t>(one(i));
    return amax;
}

// Enqueues it on `stream`; the CUDA error's number, 0 if there is none.
int launch_cast(const DeviceCast& call, void* stream);

}  // namespace switchyard::fp8
