// One attention call as the CUDA kernels see it. Plain data, copied into every launch.
//
// Legend:  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
#pragma once

#include <cstdint>

namespace switchyard::flash_cuda {

// Rows of one head; the last dimension is dense, rows start at multiples of 16 bytes. Strides in elements.
struct Rows {
    void* data = nullptr;
    std::int64_t sequence = 0;  // padded: from one sequence to the next; in pages: from one page to the next
    std::int64_t head = 0;
    std::int64_t row = 0;
};

struct Params {
    Rows q, k, v, out;
    // Float, rows of two numbers: the largest score (or one near it), the sum of exponentials relative to it;
    // zeros where nothing is seen.
    Rows softmax;
    Rows delta;  // float, rows of one number

    int sequences = 0, heads = 0, kv_heads = 0, head_dim = 0, v_head_dim = 0;
    int queries = 0, keys = 0;  // padded: N and M; packed: of the longest sequence

    // int32 on the device, or nullptr.
    const std::int32_t* cu_seqlens_q = nullptr;  // both, or none: packed or padded
    const std::int32_t* cu_seqlens_k = nullptr;  // of a paged cache never
    const std::int32_t* key_lengths = nullptr;
    const std::int32_t* query_offsets = nullptr;
    const std::int32_t* prefix_lengths = nullptr;

    // Keys of a paged cache: of each sequence there are `key_lengths`, and the last query stands at the last
    // of them. They lie in the pages that the table names, int32 [sequences, table_pages]; nullptr: they were
    // put together, and lie as padded ones do.
    bool paged = false;
    const std::int32_t* page_table = nullptr;
    int table_pages = 0, page_size = 0;

    bool causal = false;
    int window_left = -1, window_right = -1;  // < 0: unlimited

    float scale = 0.0F;
    float soft_cap = 0.0F;                // 0: none
    const float* alibi_slopes = nullptr;  // [H]
    // What T5's table adds at key minus position = i - reach: [H, 2 reach + 1]. All distances beyond reach
    // share the bucket of reach.
    const float* distance_bias = nullptr;
    int reach = 0;
    const void* dense_bias = nullptr;  // float, or of the type of q; strides 0 where broadcast
    bool dense_is_float = false;
    std::int64_t dense_stride[4] = {0, 0, 0, 0};

    // <switchyard/interfaces/dropout.h>. threshold 0: none.
    std::uint64_t seed = 0;
    std::uint32_t threshold = 0;
    std::uint32_t first_document = 0, first_head = 0;
    float keep_scale = 1.0F;

    // Backward. dq with a row of dv's kind for each query, dk and dv for each key.
    Rows grad_out, dq, dk, dv;
    // Of the dense bias, zeros before; strides 0 where it is broadcast, and added to atomically then; or
    // nullptr
    float* dense_gradient = nullptr;
    std::int64_t dense_gradient_stride[4] = {0, 0, 0, 0};
    bool dense_is_shared = false;
    float* distance_gradient =
        nullptr;  // [blocks of the pass over queries, 2 reach + 1], zeros before; or nullptr

    // Decoding, split over keys: float [splits, sequences, H, N, E] and [splits, sequences, H, N, 2] (as
    // `softmax`) where there is more than one split.
    int splits = 1;
    float* split_out = nullptr;
    float* split_softmax = nullptr;
};

// Does the call have terms that the plain kernels leave out?
constexpr bool has_terms(const Params& p) {
    return p.soft_cap > 0.0F || p.alibi_slopes != nullptr || p.distance_bias != nullptr ||
           p.dense_bias != nullptr || p.threshold != 0;
}

// What a score of the kernels is multiplied by to be one of the contract: without terms it is a product
// still.
constexpr float score_unit(const Params& p, bool terms) { return terms ? 1.0F : p.scale; }

}  // namespace switchyard::flash_cuda
