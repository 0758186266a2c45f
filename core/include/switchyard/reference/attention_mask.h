// The mask vocabulary of <switchyard/interfaces/mask.h> as tensors, for whole score matrices or for any
// rectangle of one.
//
// Legend:  B sequences  H heads  N queries  M keys
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/mask.h>

namespace switchyard::reference {

// Where the rows and columns of a score matrix stand within their sequences.
struct ScoreGeometry {
    at::Tensor position_BN;      // int64: p(i) of each query
    at::Tensor key_M;            // int64: j of each key
    at::Tensor key_length_B;     // int64, undefined: every key counts
    at::Tensor prefix_length_B;  // int64, undefined unless MaskKind::prefix
};

// bool [B, N, M] ([1, N, M] where all sequences are alike), or undefined where everything is visible.
at::Tensor visible(const AttentionMask& mask, const ScoreGeometry& geometry);

// s + what ALiBi and the relative-bias table (undefined: none) add to it. scores_BHNM float32 or float64; the
// table's gradient flows.
at::Tensor add_position_biases(const at::Tensor& scores_BHNM, const AttentionMask& mask,
                               const at::Tensor& relative_bias, const ScoreGeometry& geometry);

// T5's bucket of a distance j - p(i) (Raffel et al. 2020, arXiv:1910.10683, section 2.1): with
// `bidirectional`, half of the buckets are for keys to the right; half of a side's are for one distance each,
// the rest grow logarithmically up to max_distance, and the last takes all beyond. Exact on the boundaries
// between buckets: one is reached when the distance is, not one rounding later. Of bucketings that there are
// (<switchyard/interfaces/relative_buckets.h>): check_attention refuses others.
std::int64_t relative_bucket(std::int64_t distance, std::int64_t buckets, bool bidirectional,
                             std::int64_t max_distance);

// The same for a tensor of int64 distances.
at::Tensor relative_buckets(const at::Tensor& distance, std::int64_t buckets, bool bidirectional,
                            std::int64_t max_distance);

}  // namespace switchyard::reference
