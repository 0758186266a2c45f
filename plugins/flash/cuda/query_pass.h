// Backward, gradients of queries: a block of queries against all keys that it sees, as in forward
// (forward.h). What flash-attention adds atomically to dq is computed here by whoever owns the rows, at the
// price of scores computed twice: results are the same bits, run after run.
#pragma once

#include "fragments.h"
#include "probability.h"
#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

template <class T, int kDim, bool kTerms>
struct QueryPass {
    static constexpr int threads = tile_threads;
    static constexpr int rows = query_pass_rows;
    static constexpr int columns = tile_keys / 8;

    Params p;

    // A row's numbers, of the two rows that a lane has.
    struct RowFacts {
        RowSoftmax softmax[2];
        float delta[2];
        Visible seen[2];
    };
    // Of the gradient of a relative bias: what lies beyond reach, summed by each thread over all tiles.
    struct Beyond {
        float low = 0.0F, high = 0.0F;
    };

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        const int tiles = (p.queries + rows - 1) / rows;
        const int index = device::block() / tiles, head = index % p.heads;
        const int tile = p.causal ? tiles - 1 - device::block() % tiles : device::block() % tiles;
        const Sequence s = sequence_of(p, index / p.heads);
        const int first = tile * rows;
        if (first >= s.queries) return;
        const int last = min(first + rows, s.queries) - 1;

        T* const q = reinterpret_cast<T*>(shared);
        T* const grad = q + rows * kDim;
        T* const k = grad + rows * kDim;
        T* const v = k + tile_keys * kDim;
        auto* const diagonals = reinterpret_cast<float*>(v + tile_keys * kDim);
        const int kv_head = head / (p.heads / p.kv_heads);
        const KeyTiles key = key_tiles(p, s, first, last);
        load_tile<T, kDim>(q, row_of<const T>(p.q, s, s.q_base, head, first), p.q.row, rows, last - first + 1,
                           p.head_dim);
        load_tile<T, kDim>(grad, row_of<const T>(p.grad_out, s, s.q_base, head, first), p.grad_out.row, rows,
                           last - first + 1, p.v_head_dim);
        if (key.count > 0) load_keys(v, p.v, s, kv_head, key[0], p.v_head_dim);
        device::commit_copies();

        float dq[1][kDim / 8][4] = {};
        Beyond beyond;
        const int own = first + device::warp() * 16;
        const RowFacts row = row_facts(s, head, own);
        for (int n = 0; n < key.count; ++n) {
            device::visit_tile(s.index, head, tile, key[n]);
            device::wait_copies<0>();
            device::sync_block();
            load_keys(k, p.k, s, kv_head, key[n], p.head_dim);
            device::commit_copies();
            float by_probability[1][columns][4] = {};
            multiply_transposed<T, kDim>(by_probability, grad, device::warp() * 16, v, 0);
            device::wait_copies<0>();
            device::sync_block();
            if (n + 1 < key.count) {
                load_keys(v, p.v, s, kv_head, key[n + 1], p.v_head_dim);
                device::commit_copies();
            }
            float score[1][columns][4] = {};
            multiply_transposed<T, kDim>(score, q, device::warp() * 16, k, 0);
            to_gradients(score, by_probability, row, s, head, own, key[n] * tile_keys, diagonals);
            std::uint32_t left[1][columns / 2][4];
            as_left_factor<T>(left, score);
            multiply<T, kDim>(dq, left, k, 0, 0);
            if constexpr (kTerms) {
                if (p.distance_gradient != nullptr)
                    add_diagonals(beyond, diagonals, key[n] * tile_keys - (first + s.offset));
            }
        }
        device::wait_copies<0>();
        device::sync_block();
        if constexpr (kTerms) {
            if (p.distance_gradient != nullptr) finish_distances(beyond, diagonals);
        }
        if (p.dq.data == nullptr) return;
        const float factor[1][2] = {{p.scale, p.scale}};
        store_rows<T, kDim>(dq, factor, q, own - first, row_of<T>(p.dq, s, s.q_base, head, first), p.dq.row,
                            last - first + 1, 0, p.head_dim);
    }

    __device__ __forceinline__ void load_keys(T* to, const Rows& from, const Sequence& s, int kv_head,
                                              int tile, int dim) const {
        const int first = tile * tile_keys;
        load_tile<T, kDim>(to, row_of<const T>(from, s, s.k_base, kv_head, first), from.row, tile_keys,
                           s.keys - first, dim);
    }

    __device__ __forceinline__ RowFacts row_facts(const Sequence& s, int head, int own) const {
        RowFacts facts;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = own + 8 * half + device::lane() / 4;
            facts.softmax[half] = softmax_of<kTerms>(p, s, head, query);
            facts.delta[half] = delta_of(p, s, head, query);
            facts.seen[half] = visible(p, s, query);
        }
        return facts;
    }

    // Scores become gradients of q k^T (without the scale); what the relative bias gets goes to `diagonals`.
    __device__ __forceinline__ void to_gradients(float (&score)[1][columns][4],
                                                 const float (&by_probability)[1][columns][4],
                                                 const RowFacts& row, const Sequence& s, int head, int own,
                                                 int first_key, float* diagonals) const {
        const ScoreTerms<T> terms(p, s, head);
        const int lane = device::lane();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const RowSoftmax& softmax = row.softmax[half];
            if (!kTerms && softmax.top != 0.0F) subtract(score[0], half, softmax.top);
            const int query = own + 8 * half + lane / 4;
            std::uint32_t kept[2] = {0xFFU, 0xFFU};
            if constexpr (kTerms) {
                if (p.threshold != 0) {
                    for (int odd = 0; odd < 2; ++odd)
                        kept[odd] = kept_columns(p, s.index, head, query, first_key, 4 * odd + lane % 4);
                }
            }
            float* const line = diagonals + (device::warp() * 16 + 8 * half + lane / 4) * diagonal_stride;
#pragma unroll
            for (int j = 0; j < columns; ++j) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int column = 8 * j + 2 * (lane % 4) + i, key = first_key + column;
                    float& at = score[0][j][2 * half + i];
                    const bool seen = query < s.queries && sees(row.seen[half], s.prefix, key);
                    const Pair pair = probability_of<T, kTerms>(p, &terms, at, query, key, seen, softmax);
                    const bool keeps = (kept[j % 2] >> (2 * (j / 2) + i) & 1U) != 0;
                    const float dp = keeps ? by_probability[0][j][2 * half + i] * p.keep_scale : 0.0F;
                    const float ds = pair.probability * (dp - row.delta[half]);
                    at = ds * pair.slope;
                    if constexpr (kTerms) {
                        if (p.distance_gradient != nullptr) line[column] = ds;
                        if (p.dense_gradient != nullptr && seen) add_dense(s, head, query, key, ds);
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void add_dense(const Sequence& s, int head, int query, int key,
                                              float ds) const {
        float* const place = p.dense_gradient + s.index * p.dense_gradient_stride[0] +
                             head * p.dense_gradient_stride[1] + query * p.dense_gradient_stride[2] +
                             key * p.dense_gradient_stride[3];
        if (p.dense_is_shared) {
            device::atomic_add(place, ds);
        } else {
            *place = ds;
        }
    }

    // Sums along the diagonals of a tile: all of one distance between key and query. Each diagonal is one
    // thread's, and each distance within reach is one diagonal of a tile, so the block adds to its line in an
    // order that never changes.
    __device__ __forceinline__ void add_diagonals(Beyond& beyond, const float* diagonals,
                                                  int first_distance) const {
        device::sync_block();
        float* const line =
            p.distance_gradient + static_cast<std::int64_t>(device::block()) * (2 * p.reach + 1);
        for (int i = device::thread(); i < rows + tile_keys - 1; i += threads) {
            const int shift = i - (rows - 1);  // column minus row
            float sum = 0.0F;
            for (int r = max(0, -shift); r < min(rows, tile_keys - shift); ++r)
                sum += diagonals[r * diagonal_stride + r + shift];
            const int distance = first_distance + shift;
            if (distance <= -p.reach) {
                beyond.low += sum;
            } else if (distance >= p.reach) {
                beyond.high += sum;
            } else {
                line[distance + p.reach] += sum;
            }
        }
    }

    __device__ __forceinline__ void finish_distances(const Beyond& beyond, float* scratch) const {
        float low = beyond.low, high = beyond.high;
        for (int step = 1; step < 32; step *= 2) {
            low += device::shuffle_xor(low, step);
            high += device::shuffle_xor(high, step);
        }
        if (device::lane() == 0) {
            scratch[2 * device::warp()] = low;
            scratch[2 * device::warp() + 1] = high;
        }
        device::sync_block();
        if (device::thread() != 0) return;
        float* const line =
            p.distance_gradient + static_cast<std::int64_t>(device::block()) * (2 * p.reach + 1);
        for (int w = 0; w < tile_warps; ++w) {
            line[0] += scratch[2 * w];
            line[2 * p.reach] += scratch[2 * w + 1];
        }
    }
};

}  // namespace switchyard::flash_cuda
