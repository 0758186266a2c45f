// From a product q k^T to a score, and which probabilities dropout keeps. The order of terms is that of
// <switchyard/interfaces/mask.h>.
#pragma once

#include <limits>

#include <switchyard/interfaces/dropout.h>

#include "device.h"
#include "params.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

constexpr float log2_e = 1.4426950408889634F;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
// From here on the largest score is subtracted before the difference is scaled to an exponent of 2. Below,
// where an exponent is rounded by 2^-15 at most, both are one operation.
constexpr float large_exponent = 512.0F;

// What is the same for a head. Made only in kernels that serve the terms.
template <class T>
class ScoreTerms {
public:
    __device__ __forceinline__ ScoreTerms(const Params& p, const Sequence& s, int head)
        : p_(p), sequence_(s), slope_(p.alibi_slopes == nullptr ? 0.0F : p.alibi_slopes[head]) {
        if (p.distance_bias != nullptr)
            distances_ = p.distance_bias + static_cast<std::int64_t>(head) * (2 * p.reach + 1) + p.reach;
        dense_ = s.index * p.dense_stride[0] + head * p.dense_stride[1];
    }

    // For a query and a key of the sequence. `slope` gets the derivative of the capped score by the
    // product's.
    __device__ __forceinline__ float score(float product, int query, int key, float& slope) const {
        float s = product * p_.scale;
        slope = 1.0F;
        if (p_.soft_cap > 0.0F) {
            const float t = device::tanh(s / p_.soft_cap);
            s = p_.soft_cap * t;
            slope = 1.0F - t * t;
        }
        const int distance = key - (query + sequence_.offset);
        if (slope_ != 0.0F) s -= slope_ * static_cast<float>(distance < 0 ? -distance : distance);
        if (distances_ != nullptr) s += distances_[max(-p_.reach, min(p_.reach, distance))];
        if (p_.dense_bias != nullptr) s += dense(query, key);
        return s;
    }

private:
    __device__ __forceinline__ float dense(int query, int key) const {
        const std::int64_t at = dense_ + query * p_.dense_stride[2] + key * p_.dense_stride[3];
        if (p_.dense_is_float) return static_cast<const float*>(p_.dense_bias)[at];
        float low = 0.0F, high = 0.0F;
        device::unpack<T>(static_cast<const T*>(p_.dense_bias)[at].bits, low, high);
        return low;
    }

    const Params& p_;
    const Sequence& sequence_;
    float slope_;
    const float* distances_ = nullptr;
    std::int64_t dense_ = 0;
};

// Eight decisions of the generator: of the group of 64 columns with `first_column`, columns 16 w + 2 call + h
// at bit 2 w + h.
__device__ __forceinline__ std::uint32_t kept_columns(const Params& p, int sequence, int head, int row,
                                                      int first_column, int call) {
    const auto words = philox4x32_10(
        {static_cast<std::uint32_t>((first_column / 64) * 8 + call), static_cast<std::uint32_t>(row),
         p.first_head + static_cast<std::uint32_t>(head),
         p.first_document + static_cast<std::uint32_t>(sequence)},
        p.seed);
    std::uint32_t kept = 0;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        kept |= (words[w] & 0xFFFFU) >= p.threshold ? 1U << (2 * w) : 0U;
        kept |= (words[w] >> 16U) >= p.threshold ? 2U << (2 * w) : 0U;
    }
    return kept;
}

}  // namespace switchyard::flash_cuda
