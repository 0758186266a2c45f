// Decoding: the few queries of all heads that share a kv head, against a share of the keys (flash-decoding:
// Dao, Haziza, Massa, Sizov 2023, "Flash-Decoding for long-context inference"; one tile for a group of heads
// as in its grouped variant). What counts is that every key is read once, and that enough of them are on
// their way: two stages of keys and values.
//
// The tile has 16 rows, row = head of the group * queries + query. Each warp takes 16 of a tile's 64 keys,
// with a softmax of its own; the four are joined at the end.
#pragma once

#include "fragments.h"
#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

template <class T, int kDim>
struct DecodeKernel {
    static constexpr int threads = tile_threads;
    static constexpr int rows = decode_rows;
    static constexpr int stage = 2 * tile_keys * kDim;  // elements: keys, then values
    static constexpr int own_keys = tile_keys / tile_warps;

    Params p;

    struct Row {
        int head = 0, query = 0;
        bool real = false;
    };
    struct State {
        float out[1][kDim / 8][4];
        float maximum[2], sum[2];
    };

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        const int split = device::block() % p.splits, index = device::block() / p.splits;
        const int kv_head = index % p.kv_heads;
        const Sequence s = sequence_of(p, index / p.kv_heads);
        if (s.queries <= 0) return;
        T* const q = reinterpret_cast<T*>(shared);
        T* const stages = q + rows * kDim;
        const KeyTiles key = key_tiles(p, s, 0, s.queries - 1);
        const int share = (key.count + p.splits - 1) / p.splits;
        const int begin = min(split * share, key.count), end = min(begin + share, key.count);

        load_rows(q, s, kv_head);
        if (begin < end) load_keys(stages, s, kv_head, key[begin]);
        device::commit_copies();
        State state = {};
        state.maximum[0] = state.maximum[1] = minus_infinity;
        for (int n = begin; n < end; ++n) {
            device::visit_tile(s.index, kv_head, split, key[n]);
            const T* const k = stages + (n - begin) % 2 * stage;
            if (n + 1 < end) load_keys(stages + (n + 1 - begin) % 2 * stage, s, kv_head, key[n + 1]);
            device::commit_copies();
            device::wait_copies<1>();
            device::sync_block();
            attend(state, s, kv_head, key[n] * tile_keys, q, k, k + tile_keys * kDim);
            device::sync_block();
        }
        device::wait_copies<0>();  // of a share without keys: the queries
        join(state, s, kv_head, split, reinterpret_cast<float*>(stages));
    }

    __device__ __forceinline__ Row row(const Sequence& s, int kv_head, int number) const {
        const int group = p.heads / p.kv_heads;
        Row r;
        r.query = number % p.queries;
        r.head = kv_head * group + number / p.queries;
        r.real = number < group * p.queries && r.query < s.queries;
        return r;
    }

    __device__ __forceinline__ void load_rows(T* q, const Sequence& s, int kv_head) const {
        constexpr int chunks = kDim / 8;
        for (int i = device::thread(); i < rows * chunks; i += threads) {
            const Row r = row(s, kv_head, i / chunks);
            const bool real = r.real && i % chunks * 8 < p.head_dim;
            const T* const from = row_of<const T>(p.q, s, s.q_base, real ? r.head : 0, real ? r.query : 0);
            device::copy_async(q + chunk_offset<kDim>(i / chunks, i % chunks),
                               real ? from + i % chunks * 8 : from, real);
        }
    }

    __device__ __forceinline__ void load_keys(T* to, const Sequence& s, int kv_head, int tile) const {
        const int first = tile * tile_keys, real = s.keys - first;
        const auto k_row = [&](int row) { return key_row_of<T>(p, p.k, s, kv_head, first + row); };
        const auto v_row = [&](int row) { return key_row_of<T>(p, p.v, s, kv_head, first + row); };
        load_rows_at<T, kDim>(to, k_row, tile_keys, real, p.head_dim);
        load_rows_at<T, kDim>(to + tile_keys * kDim, v_row, tile_keys, real, p.v_head_dim);
    }

    __device__ __forceinline__ void attend(State& state, const Sequence& s, int kv_head, int first_key,
                                           const T* q, const T* k, const T* v) const {
        const int lane = device::lane(), own = device::warp() * own_keys;
        float score[1][2][4] = {};
        multiply_transposed<T, kDim>(score, q, 0, k, own);
        const bool has = has_terms(p);
        const float factor = score_unit(p, has) * log2_e;
        float shrink[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const Row r = row(s, kv_head, 8 * half + lane / 4);
            const Visible seen = visible(p, s, r.query);
            const ScoreTerms<T> terms(p, s, r.real ? r.head : 0);
            float highest = minus_infinity;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float& at = score[0][i / 2][2 * half + i % 2];
                const int key = first_key + own + 8 * (i / 2) + 2 * (lane % 4) + i % 2;
                float slope = 0.0F;
                if (!r.real || !sees(seen, s.prefix, key)) {
                    at = minus_infinity;
                } else if (has) {
                    at = terms.score(at, r.query, key, slope);
                }
                highest = fmaxf(highest, at);
            }
            highest = fmaxf(highest, device::shuffle_xor(highest, 1));
            highest = fmaxf(highest, device::shuffle_xor(highest, 2));
            const float maximum = fmaxf(state.maximum[half], highest);
            const float base = maximum == minus_infinity ? 0.0F : maximum;
            shrink[half] = device::exp2((state.maximum[half] - base) * factor);
            state.maximum[half] = maximum;
            state.sum[half] *= shrink[half];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float& at = score[0][i / 2][2 * half + i % 2];
                at = device::exp2((at - base) * factor);
                state.sum[half] += at;
            }
        }
#pragma unroll
        for (int j = 0; j < kDim / 8; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) state.out[0][j][i] *= shrink[i / 2];
        }
        std::uint32_t left[1][1][4];
        as_left_factor<T>(left, score);
        multiply<T, kDim>(state.out, left, v, own, 0);
    }

    // scratch: maximum and sum [warps][rows] each, then outputs [warps][rows][kDim].
    __device__ __forceinline__ void join(State& state, const Sequence& s, int kv_head, int split,
                                         float* scratch) const {
        const int lane = device::lane(), warp = device::warp();
        float* const maxima = scratch;
        float* const sums = maxima + tile_warps * rows;
        float* const outs = sums + tile_warps * rows;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int r = warp * rows + 8 * half + lane / 4;
            float sum = state.sum[half];
            sum += device::shuffle_xor(sum, 1);
            sum += device::shuffle_xor(sum, 2);
            if (lane % 4 == 0) {
                maxima[r] = state.maximum[half];
                sums[r] = sum;
            }
#pragma unroll
            for (int j = 0; j < kDim / 8; ++j) {
                outs[r * kDim + 8 * j + 2 * (lane % 4)] = state.out[0][j][2 * half];
                outs[r * kDim + 8 * j + 2 * (lane % 4) + 1] = state.out[0][j][2 * half + 1];
            }
        }
        device::sync_block();
        for (int i = device::thread(); i < rows * p.v_head_dim; i += threads)
            write(row(s, kv_head, i / p.v_head_dim), i / p.v_head_dim, i % p.v_head_dim, s, split, maxima,
                  sums, outs);
    }

    __device__ __forceinline__ void write(const Row& r, int number, int column, const Sequence& s, int split,
                                          const float* maxima, const float* sums, const float* outs) const {
        if (!r.real) return;
        float highest = minus_infinity, sum = 0.0F, out = 0.0F;
        for (int w = 0; w < tile_warps; ++w) highest = fmaxf(highest, maxima[w * rows + number]);
        const float base = highest == minus_infinity ? 0.0F : highest;
        const float factor = score_unit(p, has_terms(p)) * log2_e;
        for (int w = 0; w < tile_warps; ++w) {
            const float weight = device::exp2((maxima[w * rows + number] - base) * factor);
            sum += weight * sums[w * rows + number];
            out += weight * outs[(w * rows + number) * kDim + column];
        }
        const float result = sum == 0.0F ? 0.0F : out / sum;
        if (p.splits == 1) {
            row_of<T>(p.out, s, s.q_base, r.head, r.query)[column].bits =
                static_cast<std::uint16_t>(device::pack<T>(result, 0.0F) & 0xFFFFU);
            if (column == 0) keep(row_of<float>(p.softmax, s, s.q_base, r.head, r.query), base, sum);
            return;
        }
        const std::int64_t all = static_cast<std::int64_t>(p.sequences) * p.heads * p.queries;
        const std::int64_t at =
            split * all + (static_cast<std::int64_t>(s.index) * p.heads + r.head) * p.queries + r.query;
        p.split_out[at * p.v_head_dim + column] = result;
        if (column == 0) keep(p.split_softmax + 2 * at, highest, sum);
    }

    static __device__ __forceinline__ void keep(float* softmax, float top, float sum) {
        softmax[0] = top;
        softmax[1] = sum;
    }
};

}  // namespace switchyard::flash_cuda
