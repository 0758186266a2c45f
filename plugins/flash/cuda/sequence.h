// Sequences and what their queries see, on the device: the rules of <switchyard/interfaces/mask.h> as
// intervals of keys, so that tiles nobody sees are never visited.
#pragma once

#include "device.h"
#include "params.h"
#include "tiles.h"

namespace switchyard::flash_cuda {

struct Sequence {
    int index = 0;
    std::int64_t q_base = 0, k_base = 0;  // rows before it (packed), else 0
    int queries = 0;
    int all_keys = 0;  // rows of k and v
    int keys = 0;      // that count: those past key_lengths are never read
    int offset = 0;    // position of the first query
    int prefix = 0;
};

__device__ __forceinline__ Sequence sequence_of(const Params& p, int index) {
    Sequence s;
    s.index = index;
    s.queries = p.queries;
    s.all_keys = p.keys;
    if (p.cu_seqlens_q != nullptr) {
        s.q_base = p.cu_seqlens_q[index];
        s.queries = p.cu_seqlens_q[index + 1] - p.cu_seqlens_q[index];
    }
    if (p.cu_seqlens_k != nullptr) {
        s.k_base = p.cu_seqlens_k[index];
        s.all_keys = p.cu_seqlens_k[index + 1] - p.cu_seqlens_k[index];
    }
    s.keys = s.all_keys;
    if (p.key_lengths != nullptr) s.keys = max(0, min(s.all_keys, p.key_lengths[index]));
    if (p.paged) s.all_keys = s.keys;
    s.offset = p.query_offsets != nullptr ? p.query_offsets[index] : s.all_keys - s.queries;
    const bool limited = p.causal || p.window_left >= 0 || p.window_right >= 0;
    if (limited && p.prefix_lengths != nullptr) s.prefix = max(0, min(s.keys, p.prefix_lengths[index]));
    return s;
}

template <class T>
__device__ __forceinline__ T* row_of(const Rows& rows, const Sequence& s, std::int64_t base, int head,
                                     int row) {
    return static_cast<T*>(rows.data) + s.index * rows.sequence + head * rows.head + (base + row) * rows.row;
}

// A row of keys or values, wherever it lies.
template <class T>
__device__ __forceinline__ const T* key_row_of(const Params& p, const Rows& rows, const Sequence& s, int head,
                                               int key) {
    if (p.page_table == nullptr) return row_of<const T>(rows, s, s.k_base, head, key);
    const std::int64_t page =
        p.page_table[static_cast<std::int64_t>(s.index) * p.table_pages + key / p.page_size];
    return static_cast<const T*>(rows.data) + page * rows.sequence + head * rows.head +
           key % p.page_size * rows.row;
}

// Keys that a query sees: [0, prefix of the sequence) and [begin, end). Both ends never fall from one query
// to the next.
struct Visible {
    int begin = 0, end = 0;
};

__device__ __forceinline__ Visible visible(const Params& p, const Sequence& s, int query) {
    const int position = query + s.offset;
    Visible seen{0, s.keys};
    if (p.causal) seen.end = min(seen.end, position + 1);
    if (p.window_left >= 0) seen.begin = max(0, position - p.window_left);
    if (p.window_right >= 0) seen.end = min(seen.end, position + p.window_right + 1);
    seen.begin = min(seen.begin, s.keys);
    seen.end = max(seen.end, seen.begin);
    return seen;
}

__device__ __forceinline__ bool sees(const Visible& seen, int prefix, int key) {
    return key < prefix || (key >= seen.begin && key < seen.end);
}

// Tiles of keys that any of the queries first to last sees: the first `head` ones, then `count - head` from
// `tail` on.
struct KeyTiles {
    int head = 0, tail = 0, count = 0;
    __device__ __forceinline__ int operator[](int n) const { return n < head ? n : n - head + tail; }
};

__device__ __forceinline__ KeyTiles key_tiles(const Params& p, const Sequence& s, int first, int last) {
    const int begin = visible(p, s, first).begin, end = visible(p, s, last).end;
    KeyTiles tiles;
    tiles.head = (s.prefix + tile_keys - 1) / tile_keys;
    tiles.tail = max(tiles.head, begin / tile_keys);
    const int stop = end > begin ? (end + tile_keys - 1) / tile_keys : 0;
    tiles.count = tiles.head + max(0, stop - tiles.tail);
    return tiles;
}

// Tiles of queries, `rows` each, in which any query sees a key of [first_key, first_key + tile_keys).
struct QueryTiles {
    int first = 0, count = 0;
};

__device__ __forceinline__ QueryTiles query_tiles(const Params& p, const Sequence& s, int first_key,
                                                  int rows) {
    if (first_key >= s.keys) return {};
    const int all = (s.queries + rows - 1) / rows;
    if (first_key < s.prefix) return {0, all};
    const int last_key = min(first_key + tile_keys, s.keys) - 1;
    int from = 0, to = s.queries - 1;  // queries
    if (p.causal) from = max(from, first_key - s.offset);
    if (p.window_right >= 0) from = max(from, first_key - p.window_right - s.offset);
    if (p.window_left >= 0) to = min(to, last_key + p.window_left - s.offset);
    if (from > to) return {};
    return {from / rows, to / rows - from / rows + 1};
}

}  // namespace switchyard::flash_cuda
