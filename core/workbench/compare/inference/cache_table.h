// What a cache of keys and values saves: the same generation with and without one, beside what counting says.
//
// Without a cache each new token runs its whole sequence through the model again: after a prompt of P tokens,
// N new ones take P + (P + 1) + ... + (P + N - 1) tokens of work. With one they take P + N - 1: the prompt
// once, and each token but the last once. The ratio of the two sums is what would be gained if every token
// cost the same; it is less where many tokens at once are multiplied faster than one alone.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/compare/inference/inference_result.h"

namespace switchyard::compare {

// Tokens that go through the model, of one sequence.
std::int64_t tokens_without_cache(std::int64_t prompt, std::int64_t generated);
std::int64_t tokens_with_cache(std::int64_t prompt, std::int64_t generated);

// One workload, by an arm with a cache and the same one without.
struct CacheRow {
    std::size_t workload = 0, cached = 0, whole = 0;  // the two arms
    base::Interval speedup;                           // of whole passes, block by block
    double tokens_ratio = 0.0;
};

// Of all arms that stand in the result with a cache and without, and nothing else between them.
std::vector<CacheRow> cache_rows(const InferenceResult& result);

}  // namespace switchyard::compare
