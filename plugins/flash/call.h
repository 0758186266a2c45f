// One attention call as the kernels see it: pointers and strides, sequences, and which keys a query sees.
//
// Legend:  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/attention.h>
#include <switchyard/sdk/cpu/tile_operands.h>

#include "tile_plan.h"

namespace switchyard::flash {

using namespace tiles;

// Rows of one head: the last dimension is dense. Strides in elements.
struct Rows {
    void* data = nullptr;
    std::int64_t sequence = 0;  // padded: from one sequence to the next
    std::int64_t head = 0;
    std::int64_t row = 0;
    std::int64_t page = 0;  // from one page of a paged cache to the next
};

// Where the keys of a paged cache lie. page_size 0: they are in no pages.
struct PageTable {
    at::Tensor kept;  // int32 [sequences, pages], keeps the entries alive
    const std::int32_t* entries = nullptr;
    std::int64_t pages = 0, page_size = 0;

    std::int64_t entry(std::int64_t sequence, std::int64_t key) const {
        return entries[sequence * pages + key / page_size];
    }
};

struct Call {
    at::ScalarType dtype = at::kFloat;
    std::int64_t heads = 0, kv_heads = 0, head_dim = 0, v_head_dim = 0;
    std::vector<Sequence> sequences;
    Rows q, k, v;
    PageTable table;  // of k and v
    float scale = 0.0F;
    float soft_cap = 0.0F;  // 0: none
    MaskShape mask;
    Dropout dropout;
    std::int64_t first_head = 0;  // as dropout counts heads

    // What ALiBi and the relative bias add to a score depends on head and distance only: [heads, span], key
    // minus position, first_distance at index 0. Empty: nothing.
    std::vector<float> distance_bias;
    std::int64_t first_distance = 0, distance_span = 0;
    std::int64_t buckets = 0;             // of the relative bias; 0: none
    std::vector<std::int64_t> bucket_of;  // [span]

    // What a score of the kernels is multiplied by to be one of the contract: where there is nothing but a
    // scale they leave that to the exponentials.
    float score_unit() const {
        return soft_cap <= 0.0F && distance_bias.empty() && dense == nullptr ? scale : 1.0F;
    }

    // float32, element strides, 0 where broadcast; nullptr: none.
    at::Tensor dense_bias;  // keeps the values alive
    const float* dense = nullptr;
    std::int64_t dense_stride[4] = {0, 0, 0, 0};

    // Calls `body(tile)` for the tiles of `keys` that any of these queries sees.
    template <class Body>
    void for_each_tile(const Sequence& sequence, std::int64_t first, std::int64_t rows, KeyRange keys,
                       std::int64_t block_size, const Body& body) const {
        for_each_seen_tile(mask, sequence, first, rows, keys, block_size, body);
    }
    const float* distances(std::int64_t head) const {
        return distance_bias.empty() ? nullptr : distance_bias.data() + head * distance_span;
    }

    template <class T>
    T* q_row(const Sequence& s, std::int64_t head, std::int64_t row) const {
        return at(static_cast<T*>(q.data), q, s.index, s.q_base, head, row);
    }
    template <class T>
    T* k_row(const Sequence& s, std::int64_t head, std::int64_t row) const {
        return key_row(static_cast<T*>(k.data), k, s, head, row);
    }
    template <class T>
    T* v_row(const Sequence& s, std::int64_t head, std::int64_t row) const {
        return key_row(static_cast<T*>(v.data), v, s, head, row);
    }
    // Calls `body(key, count)` for the keys of [begin, end) that lie `row` apart: all of them, or those of
    // a page.
    template <class Body>
    void for_each_run(std::int64_t begin, std::int64_t end, const Body& body) const {
        for (std::int64_t key = begin; key < end;) {
            const std::int64_t rest = table.page_size == 0 ? end : table.page_size - key % table.page_size;
            const std::int64_t count = std::min(rest, end - key);
            body(key, count);
            key += count;
        }
    }
    template <class T>
    T* key_row(T* data, const Rows& rows, const Sequence& s, std::int64_t head, std::int64_t row) const {
        if (table.page_size == 0) return at(data, rows, s.index, s.k_base, head, row);
        return data + table.entry(s.index, row) * rows.page + head * rows.head +
               row % table.page_size * rows.row;
    }
    template <class T>
    static T* at(T* data, const Rows& rows, std::int64_t sequence, std::int64_t base, std::int64_t head,
                 std::int64_t row) {
        return data + sequence * rows.sequence + head * rows.head + (base + row) * rows.row;
    }
};

// Describes the call. The inputs' last dimensions are dense, those of pages too.
Call describe(const AttentionInputs& inputs, const AttentionParams& params);

// Copies keys and values out of their pages, for kernels that pack them anyway. The copies live as long as
// what is returned.
struct GatheredKeys {
    at::Tensor k, v;
};
GatheredKeys gather_keys(Call& call, const PagedCache& pages);

// Rows of a tensor [B, H, N, D] or [T, H, D].
Rows rows_of(const at::Tensor& x, Layout layout);

}  // namespace switchyard::flash
