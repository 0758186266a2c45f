// What both passes of backward compute alike for one tile: probabilities again from scores and what forward
// kept of each row's softmax, and the gradients of scores (Dao et al. 2022, arXiv:2205.14135, algorithm 4).
#pragma once

#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

// Of one pair of query and key.
struct Pair {
    float probability = 0.0F;  // before dropout
    float slope = 1.0F;        // of the soft cap
};

// Of one query: 2^(factor * (score - top) - base) is a probability. Where the largest score is small the base
// has it and top is 0, which is one operation less for each score; next to a large one a sum would be lost. A
// query that sees nothing, or is none, has a base of +infinity.
struct RowSoftmax {
    float top = 0.0F, base = -minus_infinity;
};

template <bool kTerms>
__device__ __forceinline__ RowSoftmax softmax_of(const Params& p, const Sequence& s, int head, int query) {
    RowSoftmax row;
    if (query >= s.queries) return row;
    const float* const kept = row_of<const float>(p.softmax, s, s.q_base, head, query);
    if (kept[1] == 0.0F) return row;
    const float exponent = kept[0] * (score_unit(p, kTerms) * log2_e);
    const bool large = fabsf(exponent) >= large_exponent;
    row.top = large ? kept[0] : 0.0F;
    row.base = device::log2(kept[1]) + (large ? 0.0F : exponent);
    return row;
}

// Without terms `product` is one that the row's top was taken from already, where it has one.
template <class T, bool kTerms>
__device__ __forceinline__ Pair probability_of(const Params& p, const ScoreTerms<T>* terms, float product,
                                               int query, int key, bool seen, const RowSoftmax& row) {
    Pair pair;
    if constexpr (kTerms) {
        const float score = seen ? terms->score(product, query, key, pair.slope) - row.top : minus_infinity;
        pair.probability = device::exp2(score * log2_e - row.base);
    } else {
        pair.probability = seen ? device::exp2(product * (p.scale * log2_e) - row.base) : 0.0F;
    }
    return pair;
}

__device__ __forceinline__ float delta_of(const Params& p, const Sequence& s, int head, int query) {
    return query < s.queries ? *row_of<const float>(p.delta, s, s.q_base, head, query) : 0.0F;
}

}  // namespace switchyard::flash_cuda
