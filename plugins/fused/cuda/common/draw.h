// Which of a lane's eight values are kept.
#pragma once

#include <switchyard/interfaces/dropout.h>
#include <switchyard/sdk/cuda/device_rows.h>

#include "dropout_on_device.h"

namespace switchyard::fused_cuda {

struct RowPlace {
    std::uint32_t document = 0, row = 0;
};

__device__ __forceinline__ RowPlace place_of(const DropoutOnDevice& d, std::int64_t row) {
    if (d.threshold == 0) return {};
    if (d.cu_seqlens == nullptr) {
        const std::int64_t sequence = row / d.sequence;
        return {d.first_document + static_cast<std::uint32_t>(sequence),
                static_cast<std::uint32_t>(row - sequence * d.sequence)};
    }
    std::int64_t low = 0, high = d.sequences;  // the last sequence that begins at or before the row
    while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (d.cu_seqlens[middle] <= row ? low : high) = middle;
    }
    return {d.first_document + static_cast<std::uint32_t>(low),
            static_cast<std::uint32_t>(row - d.cu_seqlens[low])};
}

__device__ __forceinline__ std::uint32_t pick(const std::uint32_t (&x)[4], int i) {
    const std::uint32_t low = (i & 1) != 0 ? x[1] : x[0], high = (i & 1) != 0 ? x[3] : x[2];
    return (i & 2) != 0 ? high : low;
}

// Drops, and scales what stays, eight values from column `base` + 8 lane on, `base` a multiple of 256. All
// lanes of a warp call it.
//
// Eight columns need one word of each of four calls, and every call has the words of four lanes, two apart:
// each lane makes one call, and three exchanges bring every word to its lane.
__device__ __forceinline__ void drop8(const DropoutOnDevice& d, const RowPlace& at, std::int64_t base,
                                      float (&x)[8]) {
    const int lane = device::lane(), word = (lane % 8) / 2, calls = 4 * (lane % 2);
    const auto group = static_cast<std::uint32_t>(base / 64 + lane / 8);
    const auto made =
        philox4x32_10({group * 8 + static_cast<std::uint32_t>(calls + word), at.row, 0, at.document}, d.seed);
    const std::uint32_t own[4] = {made[0], made[1], made[2], made[3]};
    std::uint32_t got[4];  // [k]: of call `word` ^ k
    got[0] = pick(own, word);
#pragma unroll
    for (int k = 1; k < 4; ++k) got[k] = device::shuffle_xor(pick(own, word ^ k), 2 * k);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const std::uint32_t number = (pick(got, word ^ (i / 2)) >> (16 * (i % 2))) & 0xFFFFU;
        x[i] = number < d.threshold ? 0.0F : device::multiply(x[i], d.keep_scale);
    }
}

}  // namespace switchyard::fused_cuda
