// Forward: a block of queries against all keys that it sees, 64 at a time (Dao 2023, arXiv:2307.08691,
// algorithm 1).
//
// Each warp owns rows of the tile, so a row's maximum and sum are shared by four lanes and no other. Scores
// stay in registers: a tile of probabilities is at once the
// left factor of the product with the values. Keys and values lie in one buffer each, filled a phase ahead:
// values arrive while scores are computed, the next keys while values are multiplied. The output is divided
// by its sum at the end, and rescaled only when a row's maximum has grown by more than 2^8: until then
// probabilities are taken relative to the older, smaller maximum, which is exact (the idea of section 3 of
// FlashAttention-4's announcement, Dao et al. 2025).
#pragma once

#include "fragments.h"
#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

template <class T, int kDim, bool kTerms>
struct ForwardKernel {
    static constexpr int threads = tile_threads;
    static constexpr int rows = forward_rows(kDim, kTerms);
    static constexpr int blocks = forward_blocks(kDim, kTerms);
    static constexpr int columns = tile_keys / 8;
    static constexpr float late = 8.0F;

    Params p;

    // What a warp carries from tile to tile. Of each row: the score that its sums are relative to, at most
    // 2^late below the largest, and the lane's share of the sum.
    struct State {
        float out[blocks][kDim / 8][4];
        float maximum[blocks][2];
        float sum[blocks][2];
    };

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        const int tiles = (p.queries + rows - 1) / rows;
        const int index = device::block() / tiles;
        // Of a causal mask the last queries have most to do: they start first.
        const int tile = p.causal ? tiles - 1 - device::block() % tiles : device::block() % tiles;
        const int head = index % p.heads;
        const Sequence s = sequence_of(p, index / p.heads);
        const int first = tile * rows;
        if (first >= s.queries) return;
        const int last = min(first + rows, s.queries) - 1;

        T* const q = reinterpret_cast<T*>(shared);
        T* const k = q + rows * kDim;
        T* const v = k + tile_keys * kDim;
        const int kv_head = head / (p.heads / p.kv_heads);
        const KeyTiles key = key_tiles(p, s, first, last);
        load_tile<T, kDim>(q, row_of<const T>(p.q, s, s.q_base, head, first), p.q.row, rows, last - first + 1,
                           p.head_dim);
        if (key.count > 0) load_keys(k, p.k, s, kv_head, key[0], p.head_dim);
        device::commit_copies();

        State state = {};
#pragma unroll
        for (int block = 0; block < blocks; ++block)
            state.maximum[block][0] = state.maximum[block][1] = minus_infinity;
        const int own = first + device::warp() * 16 * blocks;  // this warp's first query
        for (int n = 0; n < key.count; ++n) {
            device::visit_tile(s.index, head, tile, key[n]);
            device::wait_copies<0>();
            device::sync_block();
            load_keys(v, p.v, s, kv_head, key[n], p.v_head_dim);
            device::commit_copies();
            const bool seen = own <= last && sees_any(s, own, key[n] * tile_keys);
            std::uint32_t probabilities[blocks][columns / 2][4];
            if (seen) attend(state, probabilities, s, head, own, key[n] * tile_keys, q, k);
            device::wait_copies<0>();
            device::sync_block();
            if (n + 1 < key.count) {
                load_keys(k, p.k, s, kv_head, key[n + 1], p.head_dim);
                device::commit_copies();
            }
            if (seen) multiply<T, kDim>(state.out, probabilities, v, 0, 0);
        }
        device::wait_copies<0>();
        device::sync_block();  // the queries have come even where there was no key
        finish(state, s, head, own, first, last, q);
    }

    __device__ __forceinline__ void load_keys(T* to, const Rows& from, const Sequence& s, int kv_head,
                                              int tile, int dim) const {
        const int first = tile * tile_keys;
        load_tile<T, kDim>(to, row_of<const T>(from, s, s.k_base, kv_head, first), from.row, tile_keys,
                           s.keys - first, dim);
    }

    // Does any query of the warp see any of the tile's keys?
    __device__ __forceinline__ bool sees_any(const Sequence& s, int own, int first_key) const {
        return first_key < s.prefix || (visible(p, s, own).begin < first_key + tile_keys &&
                                        visible(p, s, own + 16 * blocks - 1).end > first_key);
    }
    __device__ __forceinline__ bool sees_all(const Sequence& s, int own, int first_key) const {
        const int end = first_key + tile_keys;
        return end <= s.prefix ||
               (visible(p, s, own + 16 * blocks - 1).begin <= first_key && visible(p, s, own).end >= end);
    }

    // From keys to probabilities, as left factors.
    __device__ __forceinline__ void attend(State& state,
                                           std::uint32_t (&probabilities)[blocks][columns / 2][4],
                                           const Sequence& s, int head, int own, int first_key, const T* q,
                                           const T* k) const {
        float score[blocks][columns][4] = {};
        multiply_transposed<T, kDim>(score, q, device::warp() * 16 * blocks, k, 0);
        if constexpr (kTerms) add_terms(score, s, head, own, first_key);
        if (!sees_all(s, own, first_key)) hide(score, s, own, first_key);
        soften(state, score);
        if constexpr (kTerms) {
            if (p.threshold != 0) drop(score, s, head, own, first_key);
        }
        as_left_factor<T>(probabilities, score);
    }

    __device__ __forceinline__ int query_of(int own, int block, int half) const {
        return own + 16 * block + 8 * half + device::lane() / 4;
    }
    __device__ __forceinline__ int key_of(int first_key, int j, int i) const {
        return first_key + 8 * j + 2 * (device::lane() % 4) + i % 2;
    }

    __device__ __forceinline__ void add_terms(float (&score)[blocks][columns][4], const Sequence& s, int head,
                                              int own, int first_key) const {
        const ScoreTerms<T> terms(p, s, head);
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
#pragma unroll
            for (int j = 0; j < columns; ++j) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int query = query_of(own, block, i / 2), key = key_of(first_key, j, i);
                    float slope = 0.0F;
                    const bool real = query < s.queries && key < s.keys;
                    score[block][j][i] = real ? terms.score(score[block][j][i], query, key, slope) : 0.0F;
                }
            }
        }
    }

    __device__ __forceinline__ void hide(float (&score)[blocks][columns][4], const Sequence& s, int own,
                                         int first_key) const {
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const Visible seen = visible(p, s, query_of(own, block, half));
#pragma unroll
                for (int j = 0; j < columns; ++j) {
#pragma unroll
                    for (int i = 2 * half; i < 2 * half + 2; ++i) {
                        if (!sees(seen, s.prefix, key_of(first_key, j, i)))
                            score[block][j][i] = minus_infinity;
                    }
                }
            }
        }
    }

    // Scores become probabilities relative to the row's maximum, and the state follows.
    __device__ __forceinline__ void soften(State& state, float (&score)[blocks][columns][4]) const {
        const float factor = score_unit(p, kTerms) * log2_e;
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
            float shrink[2];
            bool grown = false;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float highest = minus_infinity;
#pragma unroll
                for (int j = 0; j < columns; ++j)
                    highest = fmaxf(highest, fmaxf(score[block][j][2 * half], score[block][j][2 * half + 1]));
                highest = fmaxf(highest, device::shuffle_xor(highest, 1));
                highest = fmaxf(highest, device::shuffle_xor(highest, 2));
                float& maximum = state.maximum[block][half];
                shrink[half] = 1.0F;
                if ((highest - maximum) * factor > late) {
                    shrink[half] = device::exp2((maximum - highest) * factor);
                    maximum = highest;
                    grown = true;
                }
                float base = maximum == minus_infinity ? 0.0F : maximum * factor;
                if (fabsf(base) >= large_exponent) {
                    subtract(score[block], half, maximum);
                    base = 0.0F;
                }
                float sum = 0.0F;
#pragma unroll
                for (int j = 0; j < columns; ++j) {
#pragma unroll
                    for (int i = 2 * half; i < 2 * half + 2; ++i) {
                        score[block][j][i] = device::exp2(score[block][j][i] * factor - base);
                        sum += score[block][j][i];
                    }
                }
                state.sum[block][half] = state.sum[block][half] * shrink[half] + sum;
            }
            if (!device::any_lane(grown)) continue;
#pragma unroll
            for (int j = 0; j < kDim / 8; ++j) {
#pragma unroll
                for (int i = 0; i < 4; ++i) state.out[block][j][i] *= shrink[i / 2];
            }
        }
    }

    // What stays is multiplied by keep_scale at the end, with the sum.
    __device__ __forceinline__ void drop(float (&score)[blocks][columns][4], const Sequence& s, int head,
                                         int own, int first_key) const {
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
#pragma unroll
                for (int odd = 0; odd < 2; ++odd) {
                    const std::uint32_t kept = kept_columns(p, s.index, head, query_of(own, block, half),
                                                            first_key, 4 * odd + device::lane() % 4);
#pragma unroll
                    for (int j = odd; j < columns; j += 2) {
#pragma unroll
                        for (int i = 0; i < 2; ++i) {
                            if ((kept >> (2 * (j / 2) + i) & 1U) == 0) score[block][j][2 * half + i] = 0.0F;
                        }
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void finish(State& state, const Sequence& s, int head, int own, int first,
                                           int last, T* staging) const {
        float factor[blocks][2];
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float sum = state.sum[block][half];
                sum += device::shuffle_xor(sum, 1);
                sum += device::shuffle_xor(sum, 2);
                factor[block][half] = sum == 0.0F ? 0.0F : p.keep_scale / sum;
                const int query = query_of(own, block, half);
                if (device::lane() % 4 == 0 && query <= last) {
                    float* const kept = row_of<float>(p.softmax, s, s.q_base, head, query);
                    kept[0] = sum == 0.0F ? 0.0F : state.maximum[block][half];
                    kept[1] = sum;
                }
            }
        }
        store_rows<T, kDim>(state.out, factor, staging, own - first,
                            row_of<T>(p.out, s, s.q_base, head, first), p.out.row, last - first + 1, 0,
                            p.v_head_dim);
    }
};

}  // namespace switchyard::flash_cuda
