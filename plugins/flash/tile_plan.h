// Which scores a kernel visits, apart from numbers: sequences, what a query sees of its keys, and the tiles
// that some query of a block sees. The kernels visit exactly these. No LibTorch here.
#pragma once

#include <algorithm>
#include <cstdint>

namespace switchyard::flash {

constexpr std::int64_t tile_rows = 64;

struct Sequence {
    std::int64_t index = 0;
    std::int64_t q_base = 0, k_base = 0;  // rows before it (packed), else 0
    std::int64_t queries = 0;
    std::int64_t keys = 0;    // that count: those past key_lengths are never touched
    std::int64_t offset = 0;  // position of the first query
    std::int64_t prefix = 0;
    std::uint32_t document = 0;
};

// Of the mask, what is the same for all sequences.
struct MaskShape {
    bool causal = false;
    std::int64_t window_left = -1, window_right = -1;  // < 0: unlimited

    bool limits() const { return causal || window_left >= 0 || window_right >= 0; }
};

// Columns that a row of scores sees: [0, prefix) and [begin, end).
struct Visible {
    std::int64_t prefix = 0, begin = 0, end = 0;
};

inline Visible visible(const MaskShape& mask, const Sequence& sequence, std::int64_t query) {
    const std::int64_t position = query + sequence.offset;
    Visible seen{0, 0, sequence.keys};
    if (mask.causal) seen.end = std::min(seen.end, position + 1);
    if (mask.window_left >= 0) seen.begin = std::max<std::int64_t>(seen.begin, position - mask.window_left);
    if (mask.window_right >= 0) seen.end = std::min(seen.end, position + mask.window_right + 1);
    seen.begin = std::min(seen.begin, sequence.keys);
    seen.end = std::max(seen.end, seen.begin);
    if (mask.limits()) seen.prefix = std::min(sequence.prefix, sequence.keys);
    return seen;
}

// Calls `body(first, count)` for what a row sees of [begin, end).
template <class Body>
void for_each_visible(const Visible& seen, std::int64_t begin, std::int64_t end, const Body& body) {
    const std::int64_t first = std::min(std::max(seen.prefix, begin), end);
    if (first > begin) body(begin, first - begin);
    const std::int64_t from = std::max(first, std::min(std::max(seen.begin, begin), end));
    const std::int64_t to = std::min(seen.end, end);
    if (to > from) body(from, to - from);
}

struct KeyRange {
    std::int64_t begin = 0, end = 0;
};

// Columns [begin, end) of a block of keys that starts at a multiple of the block's size; what a tile computes
// of them is filled up to a multiple of 16.
struct Tile {
    std::int64_t block = 0;  // first key of the block
    std::int64_t begin = 0, end = 0;
};

// Calls `body(tile)` for the part of each block that lies in [begin, end).
template <class Body>
void for_each_tile(std::int64_t begin, std::int64_t end, std::int64_t block_size, const Body& body) {
    for (std::int64_t at = begin; at < end;) {
        const std::int64_t block = at / block_size * block_size;
        const std::int64_t stop = std::min(end, block + block_size);
        body(Tile{block, at, stop});
        at = stop;
    }
}

// Calls `body(tile)` for the tiles of `keys` that any of the queries [first, first + rows) sees, in order.
// Tiles begin at multiples of 64, for dropout draws 64 columns at a time; block_size and keys.begin are such
// multiples.
template <class Body>
void for_each_seen_tile(const MaskShape& mask, const Sequence& sequence, std::int64_t first,
                        std::int64_t rows, KeyRange keys, std::int64_t block_size, const Body& body) {
    const Visible low = visible(mask, sequence, first), high = visible(mask, sequence, first + rows - 1);
    KeyRange prefix{keys.begin, std::min(high.prefix, keys.end)};
    KeyRange window{std::max(low.begin / 64 * 64, keys.begin), std::min(high.end, keys.end)};
    if (prefix.begin < prefix.end && window.begin <= prefix.end) {
        window = {keys.begin, std::max(prefix.end, window.end)};
        prefix.end = prefix.begin;
    }
    for_each_tile(prefix.begin, prefix.end, block_size, body);
    for_each_tile(window.begin, window.end, block_size, body);
}

}  // namespace switchyard::flash
