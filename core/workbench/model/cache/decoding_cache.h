// All that a model keeps of earlier tokens: keys and values of its decoder and, where that attends to an
// encoder, those of the encoder's result, which are projected once. Model::make_cache makes one,
// Model::prefill begins its rows, Model::decode appends to them.
#pragma once

#include <memory>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/workbench/model/cache/kv_cache.h"

namespace switchyard::model {

struct CacheLimits {
    std::int64_t rows = 1;    // to begin with; more are made room for when they come
    std::int64_t length = 0;  // most tokens of a row of the decoder
    std::int64_t source = 0;  // and of the encoder; models without one do not look at it
    bool stays = false;       // CacheShape::stays
    // What pages are counted by: rows that begin, the others fork from them (0: all begin), and most tokens
    // that a row gets afterwards (0: as many as its length leaves).
    std::int64_t begun = 0, added = 0;
};

// One step as the parts of a model see it (ForwardContext::cached).
struct CachedStep {
    KvCache* self = nullptr;
    KvCache* cross = nullptr;  // nullptr: there is no encoder
    // Where the new tokens stand: of the first one of each row int32 [R], of all int64 [n] or [R, n].
    // Undefined in prefill, where every row begins at 0.
    at::Tensor offsets, positions;
    // Tokens of each row with the new ones, int32 [R]; undefined where all rows have as many, and then
    // `offsets` are, too: fewer queries than keys are the last ones. Of a cache that stays always defined.
    at::Tensor lengths;
    at::Tensor source_lengths;  // likewise of `cross`, in decoding only
    std::int64_t longest = 0;   // of the rows, the new tokens included; of a cache that stays KvCache::shown
    // Where the new tokens are written, int64 [R, n]; undefined where the cache knows by itself.
    at::Tensor places;
};

class DecodingCache {
public:
    DecodingCache(std::unique_ptr<KvCache> self, std::unique_ptr<KvCache> cross);

    // Rows begin anew with this prompt: `source` where there is an encoder, else nullptr.
    CachedStep begin(const TokenBatch& grown, const TokenBatch* source);
    // Each row gets `count` more tokens.
    CachedStep extend(std::int64_t count);

    // Row i is from now on what row rows[i] was; there may be fewer then or more.
    void select(const std::vector<std::int64_t>& rows);
    // Takes the last counts[r] tokens of row r away.
    void take_back(const std::vector<std::int64_t>& counts);

    std::int64_t rows() const { return self_->rows(); }
    const std::vector<std::int64_t>& lengths() const { return self_->lengths(); }
    // Whether so many rows can begin in it, of so many tokens of the encoder.
    bool holds(std::int64_t rows, std::int64_t source) const;
    std::int64_t bytes() const;
    // What decides the shapes of a decoding step beside its tokens: where it is the same, a graph of an
    // earlier step can be replayed.
    std::vector<std::int64_t> step_shapes() const;
    // Another number after memory was replaced by other memory.
    std::int64_t memory() const;

private:
    at::Tensor source_lengths() const;
    std::unique_ptr<KvCache> self_, cross_;
    std::vector<std::int64_t> sources_;  // by row: which row of the prompt its source was
    at::Tensor source_lengths_;
};

// Real tokens of each row of a padded batch.
std::vector<std::int64_t> row_lengths(const TokenBatch& side);

}  // namespace switchyard::model
