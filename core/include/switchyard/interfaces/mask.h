// Masks as a typed vocabulary instead of a dense tensor, so that a kernel can skip what is masked and a
// component can say exactly what it serves.
//
// Notation: query i and key j are counted within their sequence; the query stands at position
//     p(i) = i + offset,   offset = kv_length - q_length of the sequence
// (so fewer queries than keys are the last ones), or as `query_offsets` says. kv_length is the number of
// keys given, M (key_lengths does not change it: a padded batch of its own keys has offset 0), of a packed
// sequence its own number, of a paged cache the filled length. The score of (i, j) in head h is
//     s = scale * <q_i, k_j>
//     s = soft_cap * tanh(s / soft_cap)             if soft_cap > 0   (Gemma 2, arXiv:2408.00118)
//     s = s - alibi_slopes[h] * |p(i) - j|          if alibi          (Press et al. 2022, arXiv:2108.12409)
//     s = s + relative_bias[bucket(j - p(i)), h]    if relative_bias  (Raffel et al. 2020, arXiv:1910.10683)
//     s = s + dense_bias[b, h, i, j]                if dense_bias
// and the key is visible when all of these hold:
//     j < key_lengths[b]                            if key_lengths
//     same sequence                                 packed layout, always
//     (j <= p(i) if causal, and p(i) - window_left <= j <= p(i) + window_right if sliding_window)
//         or j < prefix_lengths[b]                  if prefix (Raffel et al. 2020: all see the prefix)
// A query that sees no key gets an output of zeros and zero gradients. Keys and values past key_lengths are
// finite but otherwise anything, and get zero gradients; what lies outside of a packed sequence, of a page's
// filled part or of a tensor's own elements may be NaN.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/request.h>

namespace switchyard {

// Data of a call's mask. A member counts only if `kinds` has its MaskKind. Tensors lie on the device of q.
struct AttentionMask {
    MaskSet kinds;

    at::Tensor key_lengths;  // int32 [batch]; padded layout
    // int32 [batch]: position of each row's first query; padded layout. Undefined unless the request has
    // AttentionRequest::query_offsets, and may be then.
    at::Tensor query_offsets;
    std::int64_t window_left = -1;  // < 0: unlimited
    std::int64_t window_right = -1;
    at::Tensor prefix_lengths;  // int32 [batch], or [sequences] when packed
    at::Tensor alibi_slopes;    // float32 [heads]
    double soft_cap = 0.0;

    // Bucketing of the relative-bias table, an input of attention (it has a gradient); relative_buckets.h.
    bool relative_bidirectional = true;        // then 4 buckets at least, else 2
    std::int64_t relative_max_distance = 128;  // above the number of distances that have a bucket each

    // documents: packed layout. int32 [sequences + 1] each; equal for self-attention.
    at::Tensor cu_seqlens_q;
    at::Tensor cu_seqlens_k;
    std::int64_t max_seqlen_q = 0;
    std::int64_t max_seqlen_k = 0;

    // Number of the first sequence in the whole batch; dropout's `document` (tokens.h).
    std::int64_t first_document = 0;
    // Number of the first query head in the whole layer, of which a call may have a part; dropout's `head`.
    // All else of a call - slopes, biases - is of its own heads.
    std::int64_t first_head = 0;
};

}  // namespace switchyard
