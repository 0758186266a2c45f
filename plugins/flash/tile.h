// What forward and backward do alike: the size of tiles, memory of a thread, and the rows of one tile of scores.
#pragma once

#include <cstdint>
#include <limits>

#include "call.h"
#include "row_kernels.h"

namespace switchyard::flash {

constexpr std::int64_t tile_rows = 64;

// Columns [begin, end) of a block of keys that starts at a multiple of the block's size; what a tile computes of them is filled up to a multiple of 16.
struct Tile {
    std::int64_t block = 0;  // first key of the block
    std::int64_t begin = 0, end = 0;
};

// Calls `body(tile)` for the part of each block that lies in [begin, end); begin is rounded down to a multiple of 64, for dropout draws 64 columns at a time.
template <class Body>
void for_each_tile(std::int64_t begin, std::int64_t end, std::int64_t block_size, const Body& body) {
    for (std::int64_t at = begin / 64 * 64; at < end;) {
        const std::int64_t block = at / block_size * block_size;
        const std::int64_t stop = std::min(end, block + block_size);
        body(Tile{block, at, stop});
        at = stop;
    }
}

// Calls `body(first, count)` for what the row sees of [begin, end).
template <class Body>
void for_each_visible(const Visible& seen, std::int64_t begin, std::int64_t end, const Body& body) {
    const std::int64_t first = std::min(std::max(seen.prefix, begin), end);
    if (first > begin) body(begin, first - begin);
    const std::int64_t from = std::max(first, std::min(std::max(seen.begin, begin), end));
    const std::int64_t to = std::min(seen.end, end);
    if (to > from) body(from, to - from);
}

class ScoreRow {
public:
    ScoreRow(const Call& call, const Sequence& sequence, std::int64_t head, std::int64_t query)
        : call_(call),
          sequence_(sequence),
          head_(head),
          query_(query),
          seen_(call.visible(sequence, query)) {}

    const Visible& seen() const { return seen_; }
    // Of columns that start at key `first`.
    ScoreTerms terms(std::int64_t first, float* slope) const {
        ScoreTerms terms;
        terms.scale = call_.scale;
        terms.soft_cap = call_.soft_cap;
        terms.slope = call_.soft_cap > 0.0F ? slope : nullptr;
        if (const float* const distances = call_.distances(head_))
            terms.distance = distances + (first - query_ - sequence_.offset - call_.first_distance);
        if (call_.dense != nullptr) {
            const auto& stride = call_.dense_stride;
            terms.dense = call_.dense + sequence_.index * stride[0] + head_ * stride[1] + query_ * stride[2] +
                          first * stride[3];
            terms.dense_stride = stride[3];
        }
        return terms;
    }
    DropoutRow dropout() const {
        return {call_.dropout.seed, sequence_.document, static_cast<std::uint32_t>(head_),
                static_cast<std::uint32_t>(query_), call_.dropout.threshold()};
    }

private:
    const Call& call_;
    const Sequence& sequence_;
    std::int64_t head_, query_;
    Visible seen_;
};

}  // namespace switchyard::flash
