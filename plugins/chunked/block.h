// A block: sequences of one shape that are attended to together - a padded batch, or one packed sequence -
// and any rectangle of its scores.
//
// Legend:  B sequences  H heads  K kv heads  G = H / K  N queries  M keys  D head_dim  E v_head_dim;
//          n, m: queries and keys of a rectangle
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/attention.h>

namespace switchyard::chunked {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Half-open.
struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
};

// Smallest and largest of some numbers; nullopt: they are on a device, and reading them would wait for it.
using Bounds = std::optional<Span>;  // [smallest, largest]

struct Block {
    at::Tensor q_BHND;
    at::Tensor k_BKMD, v_BKME;  // dense
    at::Tensor relative_bias;   // [buckets, H]
    at::Tensor dense_bias;      // four dimensions, each that of [B, H, N, M] or 1
    at::Tensor offset_B;        // int64 [B] or [1]: position of the first query
    at::Tensor key_length_B;    // int64, undefined: every key counts
    at::Tensor prefix_length_B;
    Bounds offsets, key_lengths, prefix_lengths;
    std::int64_t first_document = 0;

    std::int64_t queries() const { return q_BHND.size(2); }
    std::int64_t keys() const { return k_BKMD.size(2); }
};

// The padded batch of a call.
Block padded_block(const AttentionInputs& inputs, const AttentionParams& params);
// One sequence of a packed call.
Block packed_block(const AttentionInputs& inputs, const AttentionParams& params, std::int64_t sequence,
                   Span queries, Span keys);

// The keys that any of these queries can see; the rest is skipped, not masked.
Span visible_keys(const Block& block, const AttentionMask& mask, Span queries);

struct Rectangle {
    Span queries, keys;
};

struct Scores {
    at::Tensor s_BHnm;      // float32 at least, biases added, -inf where nothing is to be seen
    at::Tensor slope_BHnm;  // of soft_cap, ds / d(before the cap); only where asked for
    at::Tensor bucket_Bnm;  // of the relative bias, int64 [B or 1, n, m]
};
// q_BKgD: these queries, [B * K, G * n, D].
Scores scores(const Block& block, const AttentionParams& params, const at::Tensor& q_BKgD,
              const Rectangle& rectangle, bool want_slope);

// bool [B, H, n, m], true: kept. Only with active dropout.
at::Tensor kept(const Block& block, const AttentionParams& params, const Rectangle& rectangle);

// [B, H, n, D] of the queries, as [B * K, G * n, D], dense: the heads of a kv head are rows of one product.
at::Tensor rows_of(const at::Tensor& x_BHND, Span queries, std::int64_t kv_heads);
// [B, K, M, D] of the keys, as [B * K, m, D].
at::Tensor columns_of(const at::Tensor& x_BKMD, Span keys);

// Calls `body(queries, keys)` for chunks of queries and all the keys that each may see, in order.
template <class Body>
void for_each_chunk(const Block& block, const AttentionMask& mask, std::int64_t chunk_size,
                    const Body& body) {
    for (std::int64_t begin = 0; begin < block.queries(); begin += chunk_size) {
        const Span queries{begin, std::min(begin + chunk_size, block.queries())};
        body(queries, visible_keys(block, mask, queries));
    }
}

// Calls `body(keys)` for chunks of the keys; chunk_size 0: all at once.
template <class Body>
void for_each_key_chunk(Span keys, std::int64_t chunk_size, const Body& body) {
    const std::int64_t step = chunk_size > 0 ? chunk_size : keys.size();
    for (std::int64_t begin = keys.begin; begin < keys.end; begin += step)
        body(Span{begin, std::min(begin + step, keys.end)});
}

}  // namespace switchyard::chunked
