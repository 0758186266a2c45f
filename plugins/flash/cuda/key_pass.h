// Backward, gradients of keys and values: a block of 64 keys against the queries that see it, of all heads
// that share its kv head. Scores are computed transposed, keys in rows: so the transposed probabilities are
// at once the left factor of their products with grad_out and with the queries, and each warp owns the rows
// of dk and dv that it adds to.
//
// Two tiles of queries lie in memory, since a tile is needed first and last; grad_out arrives while scores
// are computed, the next queries while the rest is.
#pragma once

#include "fragments.h"
#include "probability.h"
#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

template <class T, int kDim, bool kTerms>
struct KeyPass {
    static constexpr int threads = tile_threads;
    static constexpr int columns = tile_queries / 8;
    static constexpr int parts = key_pass_parts(kDim);
    static constexpr int width = key_pass_columns(kDim);

    Params p;

    struct Buffers {
        T *k, *v, *q[2], *grad;
        float *top, *base, *delta;  // of the tile's queries; RowSoftmax
        unsigned char* kept;        // [tile_queries][8]: decisions, as kept_columns makes them
    };
    // One tile of queries of one head.
    struct Step {
        int head, tile;
    };

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        const int tiles = (p.keys + tile_keys - 1) / tile_keys;
        const int part = device::block() % parts, tile = device::block() / parts % tiles;
        const int index = device::block() / parts / tiles, kv_head = index % p.kv_heads;
        const Sequence s = sequence_of(p, index / p.kv_heads);
        const int first = tile * tile_keys;
        if (first >= s.all_keys) return;
        const Buffers at = buffers(shared);
        const QueryTiles query = query_tiles(p, s, first, tile_queries);
        const int group = p.heads / p.kv_heads, steps = group * query.count;
        const auto step_of = [&](int n) {
            return Step{kv_head * group + n / query.count, query.first + n % query.count};
        };

        float dk[1][width / 8][4] = {}, dv[1][width / 8][4] = {};
        if (steps > 0) {
            load_tile<T, kDim>(at.k, row_of<const T>(p.k, s, s.k_base, kv_head, first), p.k.row, tile_keys,
                               s.keys - first, p.head_dim);
            load_tile<T, kDim>(at.v, row_of<const T>(p.v, s, s.k_base, kv_head, first), p.v.row, tile_keys,
                               s.keys - first, p.v_head_dim);
            load_queries(at.q[0], p.q, s, step_of(0), p.head_dim);
            device::commit_copies();
        }
        for (int n = 0; n < steps; ++n) {
            const Step step = step_of(n);
            if (part == 0) device::visit_tile(s.index, step.head, step.tile, tile);
            const T* const q = at.q[n % 2];
            device::wait_copies<0>();
            device::sync_block();
            load_queries(at.grad, p.grad_out, s, step, p.v_head_dim);
            device::commit_copies();
            load_facts(at, s, step, first);
            float score[1][columns][4] = {};
            multiply_transposed<T, kDim>(score, at.k, device::warp() * 16, q, 0);
            device::wait_copies<0>();
            device::sync_block();
            if (n + 1 < steps) {
                load_queries(at.q[(n + 1) % 2], p.q, s, step_of(n + 1), p.head_dim);
                device::commit_copies();
            }
            add_step(dk, dv, score, at, q, s, step, first, part * width);
        }
        device::sync_block();
        store(dk, dv, at, s, kv_head, first, part * width);
    }

    __device__ __forceinline__ Buffers buffers(unsigned char* shared) const {
        constexpr int tile = tile_keys * kDim;
        T* const data = reinterpret_cast<T*>(shared);
        auto* const facts = reinterpret_cast<float*>(data + 5 * tile);
        return {data,
                data + tile,
                {data + 2 * tile, data + 3 * tile},
                data + 4 * tile,
                facts,
                facts + tile_queries,
                facts + 2 * tile_queries,
                reinterpret_cast<unsigned char*>(facts + 3 * tile_queries)};
    }

    __device__ __forceinline__ void load_queries(T* to, const Rows& from, const Sequence& s, const Step& step,
                                                 int dim) const {
        const int first = step.tile * tile_queries;
        load_tile<T, kDim>(to, row_of<const T>(from, s, s.q_base, step.head, first), from.row, tile_queries,
                           s.queries - first, dim);
    }

    // What the tile's queries have of their own. A call of the generator decides for 8 keys of one query: so
    // it is made once, for all warps.
    __device__ __forceinline__ void load_facts(const Buffers& at, const Sequence& s, const Step& step,
                                               int first_key) const {
        const int first = step.tile * tile_queries;
        for (int i = device::thread(); i < tile_queries; i += threads) {
            const RowSoftmax softmax = softmax_of<kTerms>(p, s, step.head, first + i);
            at.top[i] = softmax.top;
            at.base[i] = softmax.base;
            at.delta[i] = delta_of(p, s, step.head, first + i);
        }
        if constexpr (kTerms) {
            if (p.threshold == 0) return;
            for (int i = device::thread(); i < tile_queries * 8; i += threads)
                at.kept[i] = static_cast<unsigned char>(
                    kept_columns(p, s.index, step.head, first + i / 8, first_key, i % 8));
        }
    }

    __device__ __forceinline__ void add_step(float (&dk)[1][width / 8][4], float (&dv)[1][width / 8][4],
                                             float (&score)[1][columns][4], const Buffers& at, const T* q,
                                             const Sequence& s, const Step& step, int first_key,
                                             int first_column) const {
        float by_probability[1][columns][4] = {};
        multiply_transposed<T, kDim>(by_probability, at.v, device::warp() * 16, at.grad, 0);
        to_gradients(score, by_probability, at, s, step, first_key);
        std::uint32_t left[1][columns / 2][4];
        as_left_factor<T>(left, score);
        multiply<T, kDim>(dv, left, at.grad, 0, first_column);
        as_left_factor<T>(left, by_probability);
        multiply<T, kDim>(dk, left, q, 0, first_column);
    }

    // Scores become probabilities after dropout (without its scale); their gradients become those of q k^T
    // (without the scale).
    __device__ __forceinline__ void to_gradients(float (&score)[1][columns][4],
                                                 float (&by_probability)[1][columns][4], const Buffers& at,
                                                 const Sequence& s, const Step& step, int first_key) const {
        const ScoreTerms<T> terms(p, s, step.head);
        const int lane = device::lane(), own = device::warp() * 16 + lane / 4;  // row: key of the tile
        const bool drops = kTerms && p.threshold != 0;
        const bool large = device::any_lane(at.top[lane] != 0.0F || at.top[lane + 32] != 0.0F);
        if (!kTerms && large) subtract_tops(score, at);
#pragma unroll
        for (int j = 0; j < columns; ++j) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int column = 8 * j + 2 * (lane % 4) + i, query = step.tile * tile_queries + column;
                const Visible visible_keys = visible(p, s, query);
                const RowSoftmax softmax{large ? at.top[column] : 0.0F, at.base[column]};
                const float delta = at.delta[column];
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int row = own + 8 * half, key = first_key + row;
                    float& product = score[0][j][2 * half + i];
                    float& gradient = by_probability[0][j][2 * half + i];
                    const bool seen = query < s.queries && sees(visible_keys, s.prefix, key);
                    const Pair pair =
                        probability_of<T, kTerms>(p, &terms, product, query, key, seen, softmax);
                    bool keeps = true;
                    if (drops)
                        keeps =
                            (at.kept[column * 8 + (row % 16) / 2] >> (2 * (row / 16) + row % 2) & 1U) != 0;
                    const float dp = keeps ? gradient * p.keep_scale : 0.0F;
                    product = keeps ? pair.probability : 0.0F;
                    gradient = pair.probability * (dp - delta) * pair.slope;
                }
            }
        }
    }

    __device__ __forceinline__ void subtract_tops(float (&score)[1][columns][4], const Buffers& at) const {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) score[0][j][i] -= at.top[8 * j + 2 * (device::lane() % 4) + i % 2];
        }
    }

    // Keys past key_lengths get zeros: nothing was added to them.
    __device__ __forceinline__ void store(const float (&dk)[1][width / 8][4],
                                          const float (&dv)[1][width / 8][4], const Buffers& at,
                                          const Sequence& s, int kv_head, int first, int first_column) const {
        const int own = device::warp() * 16, real = s.all_keys - first;
        if (p.dk.data != nullptr) {
            const float factor[1][2] = {{p.scale, p.scale}};
            store_rows<T, kDim>(dk, factor, at.k, own, row_of<T>(p.dk, s, s.k_base, kv_head, first), p.dk.row,
                                real, first_column, p.head_dim);
        }
        if (p.dv.data != nullptr) {
            const float factor[1][2] = {{p.keep_scale, p.keep_scale}};
            store_rows<T, kDim>(dv, factor, at.v, own, row_of<T>(p.dv, s, s.k_base, kv_head, first), p.dv.row,
                                real, first_column, p.v_head_dim);
        }
    }
};

}  // namespace switchyard::flash_cuda
