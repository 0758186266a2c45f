// What both passes of backward compute alike for one tile: probabilities again from scores and the log-sum-exp, and the gradients of scores (Dao et al. 2022, arXiv:2205.14135, algorithm 4).
#pragma once

#include "score.h"
#include "sequence.h"

namespace switchyard::flash_cuda {

// Of one pair of query and key.
struct Pair {
    float probability = 0.0F;  // before dropout
    float slope = 1.0F;        // of the soft cap
};

// `lse` is in base 2, +infinity for a query that sees nothing or is none.
template <class T, bool kTerms>
__device__ __forceinline__ Pair probability_of(const Params& p, const ScoreTerms<T>* terms, float product,
                                               int query, int key, bool seen, float lse) {
    Pair pair;
    if constexpr (kTerms) {
        const float score = seen ? terms->score(product, query, key, pair.slope) : minus_infinity;
        pair.probability = device::exp2(score - lse);
    } else {
        pair.probability = seen ? device::exp2(product * (p.scale * log2_e) - lse) : 0.0F;
    }
    return pair;
}

// lse in base 2 of a query of the sequence.
__device__ __forceinline__ float lse_of(const Params& p, const Sequence& s, int head, int query) {
    constexpr float nothing = -minus_infinity;
    if (query >= s.queries) return nothing;
    const float lse = *row_of<const float>(p.lse, s, s.q_base, head, query);
    return lse == minus_infinity ? nothing : lse * log2_e;
}
__device__ __forceinline__ float delta_of(const Params& p, const Sequence& s, int head, int query) {
    return query < s.queries ? *row_of<const float>(p.delta, s, s.q_base, head, query) : 0.0F;
}

}  // namespace switchyard::flash_cuda
