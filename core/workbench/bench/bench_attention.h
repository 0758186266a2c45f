// The problem behind a bench of attention, apart from who solves it: inputs, mask, how much of the score
// matrix the mask leaves, and parts of it.
//
// Legend:  B batch  H heads  K kv heads  N queries  M keys  D head_dim  T total queries  S total keys
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/attention.h>
#include "core/workbench/bench/bench_settings.h"

namespace switchyard::bench {

struct AttentionProblem {
    AttentionInputs inputs;  // q_BHND, k_BKMD, v_BKMD, or packed q_THD, k_SKD, v_SKD
    AttentionParams params;
    at::Tensor grad_out;  // shape of the output
    std::vector<std::int64_t>
        q_lengths;  // by sequence: queries, and keys that may be seen (padded: key lengths)
    std::vector<std::int64_t> k_lengths;
    std::int64_t keys_given = 0;  // padded: M
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
};

AttentionProblem attention_problem(const BenchSettings& settings, const BenchShape& shape, DType dtype);

// Pairs of query and key that one head computes, over all sequences.
double visible_pairs(const AttentionProblem& problem);
// Of one sequence and one head: `offset` is the first query's position, and all queries see the first
// `prefix` keys.
double visible_pairs(const AttentionMask& mask, std::int64_t queries, std::int64_t keys, std::int64_t offset,
                     std::int64_t prefix);

// Consecutive sequences and kv heads of a problem, as a problem of its own that gives the same numbers for
// them.
struct AttentionPart {
    std::int64_t first_sequence = 0, sequences = 0;
    std::int64_t first_kv_head = 0, kv_heads = 0;

    bool whole(const AttentionProblem& problem) const;
};

AttentionProblem part_of(const AttentionProblem& problem, const AttentionPart& part);
// The same part of a tensor of the problem's: "q", "out", "k", "v", "relative_bias" ("grad " before it or
// not).
at::Tensor part_of(const AttentionProblem& problem, const AttentionPart& part, const std::string& name,
                   const at::Tensor& tensor);

// The last sequences and kv heads (the first heads with dropout, whose mask counts heads from 0) with at most
// `pairs` elements of the score matrix; one of each at least.
AttentionPart part_to_check(const AttentionProblem& problem, std::int64_t pairs);

}  // namespace switchyard::bench
