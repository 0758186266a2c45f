// Kernels over rows: the sums that backward needs, and the joining of what the splits of a decoding step have
// found.
#pragma once

#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

// delta = sum of grad_out * out of each query (Dao 2023, arXiv:2307.08691, algorithm 2). row_lanes threads
// take a row, 16 bytes each.
template <class T>
struct DeltaKernel {
    static constexpr int threads = tile_threads;

    Params p;

    __device__ __forceinline__ void operator()(unsigned char*) const {
        const int lanes = row_lanes(p.v_head_dim), chunk = device::thread() % lanes;
        const std::int64_t row =
            static_cast<std::int64_t>(device::block()) * (threads / lanes) + device::thread() / lanes;
        const int query = static_cast<int>(row % p.queries);
        const std::int64_t index = row / p.queries;
        const int head = static_cast<int>(index % p.heads);
        const bool in_batch = index / p.heads < p.sequences;
        const Sequence s = in_batch ? sequence_of(p, static_cast<int>(index / p.heads)) : Sequence{};
        const bool real = in_batch && query < s.queries;
        float sum = 0.0F;
        if (real && chunk * 8 < p.v_head_dim) {
            const auto* const a = reinterpret_cast<const std::uint32_t*>(
                row_of<const T>(p.out, s, s.q_base, head, query) + chunk * 8);
            const auto* const b = reinterpret_cast<const std::uint32_t*>(
                row_of<const T>(p.grad_out, s, s.q_base, head, query) + chunk * 8);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float a_low, a_high, b_low, b_high;
                device::unpack<T>(a[i], a_low, a_high);
                device::unpack<T>(b[i], b_low, b_high);
                sum += a_low * b_low + a_high * b_high;
            }
        }
        for (int step = 1; step < lanes; step *= 2) sum += device::shuffle_xor(sum, step);
        if (real && chunk == 0) *row_of<float>(p.delta, s, s.q_base, head, query) = sum;
    }
};

// One thread an element of the output: splits are weighted by their sums, relative to the largest score of
// all (flash-decoding: Dao, Haziza, Massa, Sizov 2023).
template <class T>
struct CombineKernel {
    static constexpr int threads = tile_threads;

    Params p;

    __device__ __forceinline__ void operator()(unsigned char*) const {
        const std::int64_t element = static_cast<std::int64_t>(device::block()) * threads + device::thread();
        const std::int64_t row = element / p.v_head_dim;
        const int column = static_cast<int>(element % p.v_head_dim);
        const int query = static_cast<int>(row % p.queries),
                  head = static_cast<int>(row / p.queries % p.heads);
        const std::int64_t sequence = row / p.queries / p.heads;
        if (sequence >= p.sequences) return;
        const Sequence s = sequence_of(p, static_cast<int>(sequence));
        if (query >= s.queries) return;
        const std::int64_t rows = static_cast<std::int64_t>(p.sequences) * p.heads * p.queries;
        float highest = minus_infinity;
        for (int i = 0; i < p.splits; ++i) highest = fmaxf(highest, p.split_softmax[2 * (i * rows + row)]);
        float sum = 0.0F, out = 0.0F;
        const float base = highest == minus_infinity ? 0.0F : highest;
        const float factor = score_unit(p, has_terms(p)) * log2_e;
        for (int i = 0; i < p.splits; ++i) {
            const float* const part = p.split_softmax + 2 * (i * rows + row);
            const float weight = device::exp2((part[0] - base) * factor) * part[1];
            sum += weight;
            if (weight > 0.0F) out += weight * p.split_out[(i * rows + row) * p.v_head_dim + column];
        }
        const std::uint32_t pair = device::pack<T>(sum == 0.0F ? 0.0F : out / sum, 0.0F);
        row_of<T>(p.out, s, s.q_base, head, query)[column].bits = static_cast<std::uint16_t>(pair & 0xFFFFU);
        if (column == 0) {
            float* const kept = row_of<float>(p.softmax, s, s.q_base, head, query);
            kept[0] = base;
            kept[1] = sum;
        }
    }
};

}  // namespace switchyard::flash_cuda
